"""From base fields and a matrix to cells, with each error named by what the user wrote."""

import copy
import json
from typing import Any

from pydantic import ValidationError

from psbench.spec.cell import Cell
from psbench.spec.document import set_at
from psbench.spec.explain import explain, is_conflict
from psbench.spec.identity import cell_id
from psbench.spec.matrix import Point, Setting, points
from psbench.spec.messages import FieldError, FieldPath, printable
from psbench.spec.short_names import SHORTHANDS


def resolve(base: dict[str, Any], matrix: dict[str, Any]) -> tuple[Cell, ...]:
    """Return the cells of a spec, in order; raise FieldError for the first that is not valid."""
    cells: list[Cell] = []
    numbers: dict[str, int] = {}
    for number, point in enumerate(points(matrix), start=1):
        cell = _cell(base, point, number)
        twin = numbers.setdefault(cell_id(cell), number)
        if twin != number:
            raise FieldError(
                ("matrix",), f"cells {twin} and {number} are the same ({cell.label}); drop one"
            )
        cells.append(cell)
    return tuple(cells)


def _cell(base: dict[str, Any], point: Point, number: int) -> Cell:
    fields = copy.deepcopy(base)
    # Shallow paths first, whatever their order: `strategy` must not wipe out `strategy.chunks`.
    settings = sorted(point, key=lambda setting: setting.field.count("."))
    try:
        for setting in settings:
            set_at(fields, tuple(setting.field.split(".")), copy.deepcopy(setting.value))
    except FieldError as error:
        raise FieldError(_origin(error.path, settings), error.text) from None
    try:
        return Cell.model_validate(fields)
    except ValidationError as error:
        problem = explain(error, Cell)
        text = problem.text
        if point and is_conflict(error):
            text += f" (cell {number}: {_describe(point)})"
        if problem.named:
            origin = _origin_of_unknown(problem.path, base, settings)
        else:
            origin = _origin(problem.path, settings)
        raise FieldError(origin, text, named=problem.named) from None


def _origin(path: FieldPath, settings: list[Setting]) -> FieldPath:
    """Return where in the spec the cell's field at `path` was written; the deepest setting wins."""
    for setting in reversed(settings):
        prefix = tuple(setting.field.split("."))
        if path[: len(prefix)] == prefix:
            return (*setting.origin, *path[len(prefix) :])
    return path


def _origin_of_unknown(path: FieldPath, base: dict[str, Any], settings: list[Setting]) -> FieldPath:
    """As `_origin`, of a field that no model has: it may be there for the sake of one in it."""
    if not _is_written(path, base):
        for setting in reversed(settings):
            if tuple(setting.field.split("."))[: len(path)] == path:
                return setting.origin
    return _origin(path, settings)


def _is_written(path: FieldPath, base: Any) -> bool:
    for step in path:
        if not isinstance(base, dict) or step not in base:
            return False
        base = base[step]
    return True


def _describe(point: Point) -> str:
    return printable(", ".join(f"{setting.field}={_brief(setting.value)}" for setting in point))


def _brief(value: Any) -> str:
    for name, strategy in SHORTHANDS.items():
        if value == strategy:
            return name
    return value if isinstance(value, str) else json.dumps(value)
