"""Cells as flat columns, and which of them differ."""

from collections.abc import Sequence
from typing import Any

from psbench.spec.cell import Cell


def cell_fields(cell: Cell) -> dict[str, Any]:
    """Return every field by its dotted path, as JSON values: {"task.optimizer.lr": 0.1, ...}."""
    return _flat(cell.model_dump(mode="json", by_alias=True), prefix="")


def varying_fields(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the dotted paths whose values are not the same in all `cells`."""
    rows = [cell_fields(cell) for cell in cells]
    paths = dict.fromkeys(path for row in rows for path in row)
    return tuple(path for path in paths if any(row.get(path) != rows[0].get(path) for row in rows))


def _flat(fields: dict[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        path = f"{prefix}{name}"
        flat |= _flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return flat
