"""In which order trials run: repeats interleaved, so that a slow minute hits all cells alike."""

from collections.abc import Iterator, Sequence

import numpy as np

from psbench.spec import Cell, Trial

_ORDER = 3  # tells this use of (seed, repeat) apart from others


def interleave(cells: Sequence[Cell], *, repeats: int, seed: int) -> Iterator[Trial]:
    """Yield every repeat of every cell: each repeat once through all cells, in an order of its own.

    The order depends on (seed, repeat) alone.
    """
    for repeat in range(repeats):
        for index in np.random.default_rng([seed, repeat, _ORDER]).permutation(len(cells)):
            yield Trial(cell=cells[index], repeat=repeat, seed=seed)
