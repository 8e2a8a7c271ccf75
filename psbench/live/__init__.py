"""On Ray: actors that train, serve and move real bytes.

The room's door is `psbench.live.engine.LiveEngine`. Nothing is imported here, so that the
transports and the schedule executor can be had without Ray.
"""
