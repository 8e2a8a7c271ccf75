"""Peer to peer: sum the gradients over all ranks, then every rank steps its own optimiser."""

from psbench.schedules import ALGORITHMS
from psbench.strategies.commands import AllReduce, Apply, Reduce, Span, Wait
from psbench.strategies.strategy import Step, Strategy, compute


def all_reduce(
    *,
    world: int,
    numel: int,
    algorithm: str,
    chunks: int | None = None,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Sum by one of our own schedules."""
    command = AllReduce(bucket=_whole(numel), schedule=ALGORITHMS[algorithm](world, chunks))
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
