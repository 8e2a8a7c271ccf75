"""Peer to peer: sum the gradients over all ranks, then every rank steps its own optimiser."""

from psbench.schedules import OPTIONS, schedule_for
from psbench.strategies.commands import AllReduce, Apply, Reduce, Span, Wait
from psbench.strategies.strategy import Step, Strategy, compute


def all_reduce(
    *,
    world: int,
    numel: int,
    algorithm: str,
    chunks: int | None = None,
    roots: int | None = None,
    ranks_per_host: int | None = None,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Sum by one of our own schedules.

    `ranks_per_host` says where ranks are (None: all on one host); most algorithms do not care.
    """
    hosts = ranks_per_host if "ranks_per_host" in OPTIONS.get(algorithm, ()) else None
    schedule = schedule_for(algorithm, world, chunks, roots=roots, ranks_per_host=hosts)
    command = AllReduce(bucket=_whole(numel), schedule=schedule)
    return Strategy(step=lambda: _step(command, accumulate, reduce))


def native(*, world: int, numel: int, accumulate: int = 1, reduce: Reduce = "mean") -> Strategy:
    """Sum by the backend's own all-reduce: the outside reference."""
    command = AllReduce(bucket=_whole(numel), schedule=None)
    return Strategy(step=lambda: _step(command, accumulate, reduce))


def _whole(numel: int) -> Span:
    return Span(index=0, start=0, stop=numel)


def _step(command: AllReduce, accumulate: int, reduce: Reduce) -> Step:
    yield from compute(accumulate, reduce)
    handle = yield command
    yield Wait(handle=handle)
    yield Apply()
