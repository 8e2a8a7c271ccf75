"""Forming a world: every process opens an endpoint, and all connect to all."""

from collections.abc import Callable, Sequence

from psbench.errors import PlacementError
from psbench.live.host import Host
from psbench.live.placement import Member
from psbench.live.transports import AUTO, SHARED_MEMORY, resolve_transport
from psbench.live.watch import gather
from psbench.spec import Cell, needs_own_all_reduce
from psbench.units import count

PEER_SECONDS = 240.0
"""The longest any process waits for a message. A backstop: the engine itself notices a process that
died within seconds, and one that is stopped within half a minute; see `watch`."""
_OPEN_SECONDS = 180.0
"""The longest an endpoint takes to open: the first on a host compiles, and others wait for it."""
_CONNECT_SECONDS = 60.0


def realised_transport(cell: Cell, hosts: Sequence[Host]) -> str:
    """Return what carries the bytes of a cell whose processes live on these hosts, one entry each:
    what `transport: auto` stands for, or the one asked for."""
    if cell.transport == AUTO and needs_own_all_reduce(cell.strategy):
        return "gloo"
    return resolve_transport(cell.transport, [host.home for host in hosts])


def form_world(
    members: Sequence[Member],
    *,
    transport: str,
    loopback: bool,
    cores: Sequence[tuple[int, ...]],
    generation: int,
    stop: Callable[[], bool],
) -> None:
    """Have `members` leave the worlds they are in and join one, in their order.

    Each is held to its `cores`. `generation` is unlike that of any world before. Raises
    PlacementError where they lie on hosts that the transport does not join, TransportError, naming
    who failed or did not answer, and KeyboardInterrupt once `stop()` says so.
    """
    everyone = list(members)
    if transport == SHARED_MEMORY:
        _check_one_host(everyone)
    opened = [
        member.actor.open.remote(transport, loopback=loopback, cores=own)
        for member, own in zip(everyone, cores, strict=True)
    ]
    addresses = gather(everyone, opened, seconds=_OPEN_SECONDS, stop=stop)
    names = [member.name for member in everyone]
    joined = [
        member.actor.connect.remote(
            addresses,
            names=names,
            rank=rank,
            generation=generation,
            join_seconds=_CONNECT_SECONDS,
            deadline=PEER_SECONDS,
        )
        for rank, member in enumerate(everyone)
    ]
    gather(everyone, joined, seconds=2 * _CONNECT_SECONDS, stop=stop)


def _check_one_host(members: Sequence[Member]) -> None:
    hosts = {member.host.home: member.host.name for member in members}
    if len(hosts) > 1:
        raise PlacementError(
            f"transport shared_memory needs all processes on one host, and they are on "
            f"{count(len(hosts), 'Ray node')} ({', '.join(sorted(hosts.values()))}); use auto or "
            f"gloo, or fewer workers"
        )
