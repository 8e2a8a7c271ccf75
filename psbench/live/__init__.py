"""On Ray: actors that train, serve and move real bytes."""

from psbench.live.engine import LiveEngine

__all__ = ["LiveEngine"]
