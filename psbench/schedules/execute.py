"""Carry a schedule out on all ranks in one process: the oracle for both engines."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psbench.parts import even_parts
from psbench.schedules.schedule import Schedule


def execute(schedule: Schedule, arrays: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return what each rank holds after `schedule`, given what each holds before it.

    `arrays[rank]` is 1-D, strided or not, of one length and dtype on all ranks; it is not changed.
    The results are new contiguous arrays of that length and dtype. Reduces are `own + incoming`
    in array order, so the bits are those any correct engine gives. Raises ValueError where the
    arrays do not fit the schedule or one another; the schedule is not verified.
    """
    if len(arrays) != schedule.world:
        raise ValueError(f"{len(arrays)} arrays for a world of {schedule.world}; give one a rank")
    for rank, array in enumerate(arrays):
        if array.ndim != 1 or array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
            raise ValueError(
                f"rank {rank} has {array.dtype}{list(array.shape)}, rank 0 has "
                f"{arrays[0].dtype}{list(arrays[0].shape)}; give 1-D arrays of one length and dtype"
            )
    held = [array.copy() for array in arrays]
    bounds = even_parts(len(held[0]), schedule.num_chunks)
    for round_ in schedule.rounds:
        begin, end = bounds[round_.start].tolist(), bounds[round_.stop].tolist()
        transfers = list(zip(round_.src.tolist(), begin, end, strict=True))
        # All sends read the values from before the round.
        messages = [held[src][low:high].copy() for src, low, high in transfers]
        for i, dst in enumerate(round_.dst.tolist()):
            own = held[dst][begin[i] : end[i]]
            if round_.reduce[i]:
                np.add(own, messages[i], out=own)
            else:
                own[:] = messages[i]
    return held
