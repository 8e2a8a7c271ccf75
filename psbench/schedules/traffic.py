"""How much a schedule makes each rank send and receive."""

from dataclasses import dataclass

import numpy as np

from psbench.parts import even_parts
from psbench.schedules.schedule import IntArray, Schedule


@dataclass(frozen=True, kw_only=True, eq=False)
class Traffic:
    """Totals of one collective, int64 arrays of shape (world,).

    Chunks are counted whether or not they hold elements. Bytes are None where the length of the
    vector was not given.
    """

    chunks_sent: IntArray
    chunks_received: IntArray
    messages_sent: IntArray
    messages_received: IntArray
    bytes_sent: IntArray | None
    bytes_received: IntArray | None


def traffic(schedule: Schedule, numel: int | None = None, itemsize: int = 4) -> Traffic:
    """Return what each rank sends and receives, for a vector of `numel` items of `itemsize` bytes.

    A message is a transfer of at least one element: both sides know the lengths, so nothing is
    sent for a transfer whose chunks are all empty. Without `numel` each transfer counts as a
    message, as it is for any vector of at least `num_chunks` elements.
    """
    world = schedule.world
    bounds = None if numel is None else even_parts(numel, schedule.num_chunks)
    chunks, messages, nbytes = (np.zeros((2, world), dtype=np.int64) for _ in range(3))
    for round_ in schedule.rounds:
        for side, rank in enumerate((round_.src, round_.dst)):
            np.add.at(chunks[side], rank, round_.stop - round_.start)
            if bounds is None:
                np.add.at(messages[side], rank, 1)
            else:
                elements = bounds[round_.stop] - bounds[round_.start]
                np.add.at(messages[side], rank, (elements > 0).astype(np.int64))
                np.add.at(nbytes[side], rank, elements * itemsize)
    return Traffic(
        chunks_sent=chunks[0],
        chunks_received=chunks[1],
        messages_sent=messages[0],
        messages_received=messages[1],
        bytes_sent=None if bounds is None else nbytes[0],
        bytes_received=None if bounds is None else nbytes[1],
    )
