"""Orders trials, hands them to an engine, and keeps what comes back."""

from psbench.driver.run import run

__all__ = ["run"]
