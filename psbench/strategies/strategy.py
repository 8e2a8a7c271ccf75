"""The form of a strategy: two generators of commands."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass

from psbench.strategies.commands import (
    Command,
    Compute,
    Elastic,
    Outer,
    Ready,
    Reduce,
    Span,
    Wait,
)

Step = Generator[Command, object, None]
"""Yields commands; is sent a handle after each that starts something, else None."""


def _nothing() -> Step:
    yield from ()


def compute(
    parts: int, reduce: Reduce | None, *, overlap: bool = False
) -> Generator[Command, object, object]:
    """Compute this rank's gradient in `parts` micro-batches, one after the other.

    With `overlap` the last one only starts; returns its handle.
    """
    handle: object = None
    for part in range(parts):
        last = part == parts - 1
        handle = yield Compute(reduce=reduce, part=part, parts=parts, overlap=overlap and last)
    return handle


def together(commands: Iterable[Command]) -> Step:
    """Start all that commands start, then wait for all of it."""
    handles = []
    for command in commands:
        handles.append((yield command))
    for handle in handles:
        yield Wait(handle=handle)


def compute_and_send(
    parts: int, reduce: Reduce | None, sends: Sequence[tuple[Span, Command]], *, overlap: bool
) -> Step:
    """Compute, and start each command once the gradients of its bucket are known: with `overlap`
    while those of others are computed. Then wait for all of it."""
    computing = yield from compute(parts, reduce, overlap=overlap)
    if not overlap:
        yield from together(command for _, command in sends)
        return
    handles = []
    for bucket, command in sends:
        yield Ready(handle=computing, bucket=bucket)
        handles.append((yield command))
    # first: what comes in may change parameters that the backward pass still reads
    for handle in (computing, *handles):
        yield Wait(handle=handle)


def _always(step: int) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """How workers agree: `start` runs once before the first step, `step(number)` once a step;
    steps count from 0.

    After a step the flat parameters are those of the next step, on every rank that takes part.
    Where `served`, servers keep the parameters: they say in their answers when the trial ends, and
    copy the parameters for evaluation. Else each rank counts its steps.
    """

    step: Callable[[int], Step]
    start: Callable[[], Step] = _nothing
    served: bool = False
    every: int = 1
    """Steps from one push of a worker to the next, where it pushes."""
    outer: Outer | Elastic | None = None
    """How servers take in what is pushed; None: by the task's own optimiser."""
    agrees: Callable[[int], bool] = _always
    """Whether a rank may end the trial after a step, and have parameters evaluated: where ranks
    agree now and then, only when they just have. The last step of a trial is one of these."""
