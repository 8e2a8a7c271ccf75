"""Sums of several vectors in one pass, by compiled code where it knows the dtype."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from psbench.live.machine import loop, waiting

_KINDS = {getattr(torch, name): kind for kind, name in enumerate(loop.KINDS)}


def kind_of(dtype: torch.dtype) -> int:
    """Return the number by which compiled code knows a dtype."""
    return _KINDS.get(dtype, loop.FOREIGN)


def sum_into(total: Tensor, parts: Sequence[Tensor]) -> None:
    """Set `total` to the sum of the parts, added in their order, element by element.

    All are contiguous, on the host, and of one shape and dtype. `total` may be one of them.
    """
    places = np.array([part.data_ptr() for part in (*parts, total)], dtype=np.int64)
    kind = kind_of(total.dtype)
    status = loop.combine(kind, places.ctypes.data, len(parts), 1, total.nbytes)
    if status == waiting.HANDED_BACK:
        result = parts[0].clone()
        for part in parts[1:]:
            result.add_(part)
        total.copy_(result)
