"""What is to be simulated: collectives, and their schedules as flat arrays of messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psbench.parts import even_parts
from psbench.schedules import Schedule

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Collective:
    """A schedule on a vector of `numel` items of `itemsize` bytes."""

    schedule: Schedule
    numel: int
    itemsize: int = 4
    starts: FloatArray | None = None
    """s, shape (world,): when each rank is ready for it; None: at 0"""

    @property
    def bounds(self) -> IntArray:
        """Where each chunk begins, in bytes, shape (num_chunks + 1,)."""
        return even_parts(self.numel, self.schedule.num_chunks) * self.itemsize

    @property
    def ready(self) -> FloatArray:
        """When each rank is ready for it, s, shape (world,)."""
        if self.starts is None:
            return np.zeros(self.schedule.world)
        return np.asarray(self.starts, dtype=float)


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfers:
    """All messages of some collectives in the order of (collective, round, place in the round).

    Arrays of shape (messages,). Messages without a byte are left out, as the live engine does.
    """

    collective: IntArray
    round: IntArray
    src: IntArray
    dst: IntArray
    nbytes: IntArray
    reduce: BoolArray

    def __len__(self) -> int:
        return len(self.src)


def transfers_of(collectives: Sequence[Collective]) -> Transfers:
    """Return the messages of `collectives`."""
    columns: list[list[npt.NDArray[Any]]] = [[] for _ in range(6)]
    for number, one in enumerate(collectives):
        bounds = one.bounds
        for position, own in enumerate(one.schedule.rounds):
            nbytes = bounds[own.stop] - bounds[own.start]
            some = nbytes > 0
            src = own.src[some]
            values = (
                np.full(len(src), number), np.full(len(src), position),
                src, own.dst[some], nbytes[some], own.reduce[some],
            )  # fmt: skip
            for column, value in zip(columns, values, strict=True):
                column.append(value)
    *integers, reduce = columns
    none = np.empty(0, dtype=np.int64)
    collective, round_, src, dst, nbytes = (np.concatenate([none, *own]) for own in integers)
    return Transfers(
        collective=collective,
        round=round_,
        src=src,
        dst=dst,
        nbytes=nbytes,
        reduce=np.concatenate([np.empty(0, dtype=np.bool_), *reduce]),
    )
