"""Peer to peer: sum the gradients over all ranks, then every rank steps its own optimiser."""

from psbench.schedules import ALGORITHMS
from psbench.strategies.commands import AllReduce, Apply, Compute, Span, Wait
from psbench.strategies.strategy import Step, Strategy


def all_reduce(*, world: int, numel: int, algorithm: str, chunks: int | None = None) -> Strategy:
    """Sum by one of our own schedules."""
    schedule = ALGORITHMS[algorithm](world, chunks)
    return Strategy(step=lambda: _step(AllReduce(bucket=_whole(numel), schedule=schedule)))


def native(*, world: int, numel: int) -> Strategy:
    """Sum by the backend's own all-reduce: the outside reference."""
    return Strategy(step=lambda: _step(AllReduce(bucket=_whole(numel), schedule=None)))


def _whole(numel: int) -> Span:
    return Span(index=0, start=0, stop=numel)


def _step(command: AllReduce) -> Step:
    yield Compute(share=True)
    handle = yield command
    yield Wait(handle=handle)
    yield Apply()
