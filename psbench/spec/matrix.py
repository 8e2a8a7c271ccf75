"""The matrix: which values are put over the base fields, one set of them a cell."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from psbench.spec.cell import Cell
from psbench.spec.document import LISTS_OF_FIELDS
from psbench.spec.messages import FieldError, FieldPath, show, unknown
from psbench.spec.structure import field_paths, free_maps

MAX_CELLS = 1000


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value put over the base: `field` is its dotted path, `origin` where it was written."""

    field: str
    value: Any
    origin: FieldPath


Point = tuple[Setting, ...]
"""What makes one cell of the base fields."""


def points(matrix: dict[str, Any]) -> tuple[Point, ...]:
    """Return the matrix's points: the product of its axes, less `exclude`, then `include`.

    Axes vary in the order of writing, the last one fastest. A matrix without axes has its includes
    alone or, without these either, one empty point: the base itself.
    """
    known = tuple(field_paths(Cell))
    free = free_maps(Cell)
    axes = {name: matrix[name] for name in matrix if name not in LISTS_OF_FIELDS}
    for name, values in axes.items():
        _check_axis(name, values, known, free)
    includes = _entries(matrix, "include", known, free)
    excludes = _entries(matrix, "exclude", tuple(axes), ())
    size = math.prod(len(values) for values in axes.values()) + len(includes)
    if size > MAX_CELLS:
        raise FieldError(("matrix",), f"{size} cells; a spec may have {MAX_CELLS}")
    grid = [] if includes and not axes else list(_product(axes))
    return tuple(_excluded(grid, excludes) + includes)


def _check_axis(name: str, values: Any, known: tuple[str, ...], free: tuple[str, ...]) -> None:
    if not _is_known(name, known, free):
        raise FieldError(("matrix", name), unknown("axis", name, known), named=True)
    if not isinstance(values, list):
        raise FieldError(("matrix", name), f"expected a list of values, got {show(values)}")
    if not values:
        raise FieldError(("matrix", name), "an axis needs at least one value")


def _is_known(name: str, known: tuple[str, ...], free: tuple[str, ...]) -> bool:
    """Tell whether `name` is one of `known` or leads into one of the `free` maps."""
    into_map = any(name.startswith(f"{path}.") for path in free) and all(name.split("."))
    return name in known or into_map


def _entries(
    matrix: dict[str, Any], key: str, known: tuple[str, ...], free: tuple[str, ...]
) -> list[Point]:
    entries = [] if matrix.get(key) is None else matrix[key]
    if not isinstance(entries, list):
        raise FieldError(("matrix", key), f"expected a list of maps, got {show(entries)}")
    found = []
    for index, entry in enumerate(entries):
        origin = ("matrix", key, index)
        if not isinstance(entry, dict) or not entry:
            raise FieldError(origin, f"expected a map from field to value, got {show(entry)}")
        for name in entry:
            if not _is_known(name, known, free):
                noun = "axis" if key == "exclude" else "field"
                raise FieldError((*origin, name), unknown(noun, name, known), named=True)
        found.append(
            tuple(Setting(field=k, value=v, origin=(*origin, k)) for k, v in entry.items())
        )
    return found


def _product(axes: dict[str, list[Any]]) -> Iterable[Point]:
    settings = [
        [
            Setting(field=name, value=value, origin=("matrix", name, index))
            for index, value in enumerate(values)
        ]
        for name, values in axes.items()
    ]
    return itertools.product(*settings)


def _excluded(grid: list[Point], excludes: list[Point]) -> list[Point]:
    removed: set[int] = set()
    for index, exclude in enumerate(excludes):
        wanted = {setting.field: setting.value for setting in exclude}
        hits = {number for number, point in enumerate(grid) if _matches(point, wanted)}
        if not hits:
            raise FieldError(("matrix", "exclude", index), "removes no cell")
        removed |= hits
    if grid and len(removed) == len(grid):
        raise FieldError(("matrix", "exclude"), "removes every cell")
    return [point for number, point in enumerate(grid) if number not in removed]


def _matches(point: Point, wanted: dict[str, Any]) -> bool:
    values = {setting.field: setting.value for setting in point}
    return all(values[field] == value for field, value in wanted.items())
