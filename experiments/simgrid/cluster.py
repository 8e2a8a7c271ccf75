"""The cluster that SimGrid is asked about, for whatever interpreter: it needs nothing installed."""

MODEL = (
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    "--log=root.thres:error",
)
"""What leaves of SimGrid's network latency and bandwidth alone."""

_PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="host" suffix="" radical="0-{last}" speed="1Gf"
           bw="{rate!r}Bps" lat="{latency!r}s" sharing_policy="SPLITDUPLEX"/>
</platform>
"""


def platform_xml(*, world, latency, byte_time):
    """Return hosts that meet in a switch; a message passes its sender's and its receiver's link."""
    return _PLATFORM.format(last=world - 1, rate=1.0 / byte_time, latency=latency / 2)
