"""The one rule by which anything is cut into even parts: chunks, shards, slices of a batch."""

import numpy as np
import numpy.typing as npt


def even_parts(total: int, parts: int) -> npt.NDArray[np.int64]:
    """Return the bounds of `parts` even parts of `total` elements, shape (parts + 1,).

    Part i is `[bounds[i], bounds[i + 1])`; sizes differ by at most one and may be 0. Bounds are
    `i * total // parts`, so even parts of even parts are even parts of the whole: the bounds of
    `a` parts are every b-th bound of `a * b` parts.
    """
    assert total >= 0, f"total {total} is negative"
    assert parts >= 1, f"parts {parts} is below 1"
    size, rest = divmod(total, parts)
    part = np.arange(parts + 1, dtype=np.int64)
    return part * size + part * rest // parts  # part * total could overflow


def part_sizes(total: int, parts: int) -> npt.NDArray[np.int64]:
    """Return the sizes of `parts` even parts of `total` elements, shape (parts,)."""
    return np.diff(even_parts(total, parts))
