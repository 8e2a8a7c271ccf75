"""A collective written down as data: rounds of transfers of chunks between ranks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psbench.errors import ScheduleError

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """Transfers that depend on none of one another, as parallel arrays of shape (transfers,).

    Transfer i: rank `src[i]` sends its chunks `[start[i], stop[i])`, at least one, to rank
    `dst[i]`, which adds them to its own (`reduce[i]`) or replaces its own by them. All sends read
    the values from before the round. For each (dst, chunk) there are either only reduces, applied
    in array order as `own + incoming`, or exactly one overwrite.
    """

    src: IntArray
    dst: IntArray
    start: IntArray
    stop: IntArray
    reduce: BoolArray

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True, kw_only=True, eq=False)
class LazyRounds:
    """Rounds that `generate` makes anew at each iteration; nothing is stored."""

    generate: Callable[[], Iterator[Round]]

    def __iter__(self) -> Iterator[Round]:
        return self.generate()


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """What moves between the ranks `0..world-1` in one collective on a vector of `num_chunks`.

    `rounds` can be iterated any number of times. A rank enters a round when its own transfers of
    the round before are done; there is no global barrier. Which elements a chunk holds is
    `parts.even_parts`' to say. Raises ScheduleError where `world` or `num_chunks` is below 1.
    """

    world: int
    num_chunks: int
    rounds: Iterable[Round]

    def __post_init__(self) -> None:
        if self.world < 1:
            raise ScheduleError(f"a schedule needs a world of at least 1 rank, not {self.world}")
        if self.num_chunks < 1:
            raise ScheduleError(f"a schedule needs at least 1 chunk, not {self.num_chunks}")


def uniform_round(
    *, src: IntArray, dst: IntArray, start: IntArray, stop: IntArray, reduce: bool
) -> Round:
    """Return the round in which all transfers reduce, or all overwrite; empty ones are left out."""
    some = start < stop
    if some.all():
        return Round(src=src, dst=dst, start=start, stop=stop, reduce=np.full(len(src), reduce))
    return Round(
        src=src[some],
        dst=dst[some],
        start=start[some],
        stop=stop[some],
        reduce=np.full(np.count_nonzero(some), reduce),
    )
