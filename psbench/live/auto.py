"""What `algorithm: auto` stands for, and the file that a measured network is kept in."""

import socket
from datetime import UTC, datetime

from psbench.network import Link, Network, Timing
from psbench.schedules import COSTS, OPTIONS
from psbench.spec import NETWORK_VERSION, CollectiveTime, LinkTimes, NetworkFile

ON_ONE_HOST = {
    name: cost for name, cost in COSTS.items() if "ranks_per_host" not in OPTIONS.get(name, ())
}
"""The algorithms to choose from. Hierarchical ones differ from them only between several hosts."""

ASSUMED = Network(
    transport="assumed",
    link=Link(latency=14e-6, overhead=3e-6, byte_time=0.8e-9, reduce_time=0.05e-9),
)
"""For want of a better one: 20 us a message, 10 Gbit/s, and one core that adds at 20 GB/s."""


def pick(network: Network, *, workers: int, nbytes: int) -> str:
    """Return the algorithm that is predicted to sum a vector of `nbytes` fastest.

    The same on every rank, given the same network.
    """
    return next(iter(network.predict(ON_ONE_HOST, workers=workers, nbytes=nbytes)))


def network_from(file: NetworkFile) -> Network:
    """Return the network that a file describes; timings of algorithms we lack are passed over."""
    return Network(
        transport=file.transport,
        link=_link(file.link),
        uncertainty=_link(file.uncertainty),
        timings=tuple(
            Timing(algorithm=t.algorithm, workers=t.workers, nbytes=t.size, seconds=t.time)
            for t in file.collectives
            if t.algorithm in COSTS
        ),
    )


def network_file(network: Network) -> NetworkFile:
    """Return a network that was measured here, just now, as a file has it."""
    assert network.uncertainty is not None, "a measured link has an uncertainty"
    return NetworkFile(
        schema_version=NETWORK_VERSION,
        transport=network.transport,
        host=socket.gethostname(),
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
        link=_times(network.link),
        uncertainty=_times(network.uncertainty),
        collectives=tuple(
            CollectiveTime.model_construct(
                algorithm=t.algorithm, workers=t.workers, size=t.nbytes, time=t.seconds
            )
            for t in network.timings
        ),
    )


def _times(link: Link) -> LinkTimes:
    # what is in hand needs no unit, as what is read does
    return LinkTimes.model_construct(None, **link.costs())


def _link(times: LinkTimes) -> Link:
    return Link(
        latency=times.latency,
        overhead=times.overhead,
        byte_time=times.byte_time,
        reduce_time=times.reduce_time,
    )
