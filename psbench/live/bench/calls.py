"""Timing calls in step: what is common to all that `psbench bench` measures."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from psbench.live.bench.plan import Point

WARM_UP = 2
"""Calls before the timed ones: they open connections, touch memory, and are checked alike."""


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


@dataclass(frozen=True, kw_only=True)
class Call:
    """One kind of call: `prepare` and `count_wrong` are not timed, and are told its number."""

    prepare: Callable[[int], None]
    carry_out: Callable[[int], None]
    count_wrong: Callable[[int], int]


def time_calls(
    call: Call, calls: int, barrier: Callable[[], None]
) -> tuple[tuple[float, ...], int]:
    """Return what each of `calls` calls took here, in seconds, and how many elements were wrong.

    All ranks enter a call together, as far as a barrier can have them do so.
    """
    seconds, wrong = [], 0
    for number in range(WARM_UP + calls):
        call.prepare(number)
        barrier()
        began = time.perf_counter()
        call.carry_out(number)
        ended = time.perf_counter()
        wrong += call.count_wrong(number)
        if number >= WARM_UP:
            seconds.append(ended - began)
    return tuple(seconds), wrong
