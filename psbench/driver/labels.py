"""What cells are called where people read of them."""

from collections.abc import Sequence

from psbench.spec import Cell, cell_fields, cell_id, varying_fields
from psbench.units import show_value

_IN_LABEL = ("strategy", "workers")


def cell_labels(cells: Sequence[Cell]) -> dict[str, str]:
    """Return each cell's label by its id, with all that tells it from the others: "ring, 4 workers,
    lr 0.1"."""
    varying = [path for path in varying_fields(cells) if path.split(".")[0] not in _IN_LABEL]
    names = _short_names(varying)
    labels = {}
    for cell in cells:
        fields = cell_fields(cell)
        own = [path for path in varying if fields.get(path) is not None]
        parts = [f"{names[path]} {show_value(fields[path])}" for path in own]
        labels[cell_id(cell)] = ", ".join([cell.label, *parts])
    return labels


def _short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the last part of each dotted path, or all of it where others end alike."""
    last = [path.rpartition(".")[2] for path in paths]
    return {
        path: path if last.count(name) > 1 else name for path, name in zip(paths, last, strict=True)
    }
