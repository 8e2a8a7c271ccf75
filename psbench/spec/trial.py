"""One repeat of a cell."""

from dataclasses import dataclass

from psbench.spec.cell import Cell


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One repeat of a cell.

    `repeat` counts from 0; `seed` is the spec's. Initial parameters and batches depend on
    (seed, repeat, step) alone.
    """

    cell: Cell
    repeat: int
    seed: int


Asked = tuple[Trial, str, int]
"""A trial that is to be run, its cell's id, and the number of the attempt at it."""
