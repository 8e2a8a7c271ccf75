"""Carry a schedule out on all ranks in one process: the oracle for both engines."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psbench.parts import even_parts
from psbench.schedules.schedule import Schedule

Array = npt.NDArray[Any]


def execute(
    schedule: Schedule,
    arrays: Sequence[Array],
    *,
    rounded: Callable[[Array], Array] | None = None,
) -> list[Array]:
    """Return what each rank holds after `schedule`, given what each holds before it.

    `arrays[rank]` is 1-D, strided or not, of one length and dtype on all ranks; it is not changed.
    The results are new contiguous arrays of that length and dtype. Reduces are `own + incoming`
    in array order, so the bits are those any correct engine gives. With `rounded`, which returns an
    array rounded to what is sent, a rank rounds its own value of what it sends, too, and in the end
    each that sent or received anything all it holds. Raises ValueError where the arrays do not fit
    the schedule or one another; the schedule is not verified.
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
    moved: set[int] = set()
    for round_ in schedule.rounds:
        begin, end = bounds[round_.start].tolist(), bounds[round_.stop].tolist()
        transfers = list(zip(round_.src.tolist(), begin, end, strict=True))
        if rounded is not None:
            some = bounds[round_.start] < bounds[round_.stop]
            moved |= {*round_.src[some].tolist(), *round_.dst[some].tolist()}
            for src, low, high in transfers:
                held[src][low:high] = rounded(held[src][low:high])
        # All sends read the values from before the round.
        messages = [held[src][low:high].copy() for src, low, high in transfers]
        for i, dst in enumerate(round_.dst.tolist()):
            own = held[dst][begin[i] : end[i]]
            if round_.reduce[i]:
                np.add(own, messages[i], out=own)
            else:
                own[:] = messages[i]
    if rounded is None:
        return held
    return [rounded(own) if rank in moved else own for rank, own in enumerate(held)]
