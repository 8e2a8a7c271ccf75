"""Journalled rows as JSON objects, and back.

JSON has no NaN: a float that is not finite is written as null, and null in a float field is read
as NaN.
"""

import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_args

from psbench.results.rows import EvalRow, EventRow, JournalRow, TrialRow, TrialStatus

ROW_TYPES: dict[str, type[JournalRow]] = {
    "trial": TrialRow,
    "eval": EvalRow,
    "event": EventRow,
}
_NAMES = {row_type: name for name, row_type in ROW_TYPES.items()}


def encode_row(row: JournalRow) -> dict[str, Any]:
    """Return `row` as a JSON object, with its kind under "type"."""
    encoded: dict[str, Any] = {"type": _NAMES[type(row)]}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        encoded[field.name] = list(value) if isinstance(value, tuple) else value
    return encoded


def decode_row(encoded: dict[str, Any]) -> JournalRow | None:
    """Return the row that `encoded` holds, or None if its type is not one we know.

    A field that we do not know is passed over: it is a later version's. One that an earlier version
    did not write takes its default. Raises ValueError where it has none, and for a wrong type.
    """
    row_type = ROW_TYPES.get(encoded.get("type", ""))
    if row_type is None:
        return None
    values: dict[str, Any] = {}
    for field in fields(row_type):
        if field.name not in encoded:
            if field.default is not MISSING:
                continue
            raise ValueError(f"{encoded['type']} row without {field.name!r}")
        value = encoded[field.name]
        try:
            values[field.name] = _DECODERS[field.type](value)
        except (TypeError, ValueError):
            raise ValueError(f"{encoded['type']} row with {field.name} {value!r}") from None
    return row_type(**values)


def _float(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _status(value: Any) -> str:
    if value not in get_args(TrialStatus):
        raise ValueError
    return str(value)


def _optional(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else decode(value)


def _tuple(decode: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def decode_tuple(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError
        return tuple(decode(item) for item in value)

    return decode_tuple


_DECODERS: dict[Any, Callable[[Any], Any]] = {
    int: _int,
    float: _float,
    str: _str,
    bool: _bool,
    TrialStatus: _status,
    int | None: _optional(_int),
    float | None: _optional(_float),
    str | None: _optional(_str),
    tuple[int, ...]: _tuple(_int),
    tuple[float, ...]: _tuple(_float),
    tuple[str, ...]: _tuple(_str),
}
