"""The form of a strategy: two generators of commands."""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from psbench.strategies.commands import Command, Compute, Reduce

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


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """How workers agree: `start` runs once before the first step, `step` once a step.

    After a step the flat parameters are those of the next step, on every rank that takes part.
    Where `served`, servers keep the parameters: they say in their answers when the trial ends, and
    copy the parameters for evaluation. Else each rank counts its steps.
    """

    step: Callable[[], Step]
    start: Callable[[], Step] = _nothing
    served: bool = False
