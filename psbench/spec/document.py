"""A spec as plain data: copied, short names expanded, values put in by dotted path."""

from collections.abc import Callable
from typing import Any

from psbench.spec.links import expand_preset
from psbench.spec.messages import FieldError, FieldPath, show
from psbench.spec.short_names import expand_shorthand

MAX_DEPTH = 50
LISTS_OF_FIELDS = ("include", "exclude")
"""The keys of a matrix that are no axes: lists of maps from dotted path to value."""
_EXPANDED: dict[str, Callable[[Any], Any]] = {
    "strategy": expand_shorthand,
    "strategy.over": expand_shorthand,
    "network": expand_preset,
    "network.inside": expand_preset,
}


def plain(value: Any, path: FieldPath = ()) -> Any:
    """Return a copy of `value` made of dicts, lists, strings, numbers, booleans and None alone.

    Raises FieldError for anything else, for integers of more than 64 bits, and for data nested
    deeper than MAX_DEPTH.
    """
    if len(path) > MAX_DEPTH:
        raise FieldError(path[:1], f"nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise FieldError(path, f"keys must be text, got {show(key)}")
        return {key: plain(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, (*path, index)) for index, inner in enumerate(value)]
    if isinstance(value, int) and abs(value) >= 2**63:
        raise FieldError(path, "does not fit into 64 bits")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise FieldError(path, f"expected plain data (a map, list, text or number), got {show(value)}")


def expand_shorthands(document: dict[str, Any]) -> dict[str, Any]:
    """Return the spec `document` with short names of strategies and networks expanded wherever they
    may stand.

    Done before anything else, so that a dotted path can reach into what was named.
    Whatever has a wrong type is left for validation to find.
    """
    document = _expanded(document)
    matrix = document.get("matrix")
    if isinstance(matrix, dict):
        document["matrix"] = {key: _expand_entry(key, value) for key, value in matrix.items()}
    return document


def set_at(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set the value at `path` in place, creating the maps that lead there.

    Raises FieldError where something else than a map stands in the way.
    """
    for depth, name in enumerate(path[:-1], start=1):
        if document.get(name) is None:
            document[name] = {}
        document = document[name]
        if not isinstance(document, dict):
            raise FieldError(path[:depth], f"expected a map, got {show(document)}")
    document[path[-1]] = value


def _expand_entry(key: str, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    if key in LISTS_OF_FIELDS:
        return [_expanded(one) if isinstance(one, dict) else one for one in value]
    return [_EXPANDED[key](one) for one in value] if key in _EXPANDED else value


def _expanded(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _EXPANDED[key](value) if key in _EXPANDED else value for key, value in fields.items()
    }
