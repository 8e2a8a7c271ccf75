"""Timing calls in step: what is common to all that `psbench bench` measures."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from psbench.live.bench.plan import Point


@dataclass(frozen=True, kw_only=True)
class BenchJob:
    """The points of one world of `workers`, and one server more where they are `served`."""

    points: tuple[Point, ...]
    served: bool
    dtype: str
    workers: int
    generation: int


@dataclass(frozen=True, kw_only=True)
class PointTimes:
    """One rank's calls of one point; `step` counts the points of a world.

    `seconds` has one entry a timed call and is None where the transport cannot carry the algorithm.
    """

    step: int
    rank: int
    seconds: tuple[float, ...] | None
    wrong: int = 0


class Sums(Protocol):
    """What goes into each call, and what must come of it; calls are numbered from 0."""

    def give(self, number: int) -> None:
        """Set the vector to what this rank contributes to a call."""

    def take(self, number: int) -> None:
        """Note, or check, what came of a call."""

    def wrong(self) -> int:
        """Return how many elements were wrong in all calls taken."""


def time_calls(
    carry_out: Callable[[], None], sums: Sums, point: Point, barrier: Callable[[], None]
) -> tuple[tuple[float, ...], int]:
    """Return what each timed call took here, in seconds, and how many elements were wrong.

    All ranks enter a call together, as far as a barrier can have them do so, and none does anything
    else before all have left it.
    """
    seconds = []
    for number in range(point.warm_up + point.calls):
        sums.give(number)
        barrier()
        began = time.perf_counter()
        carry_out()
        ended = time.perf_counter()
        barrier()  # or who is done first would keep a core busy that others need to end the call
        sums.take(number)
        if number >= point.warm_up:
            seconds.append(ended - began)
    return tuple(seconds), sums.wrong()
