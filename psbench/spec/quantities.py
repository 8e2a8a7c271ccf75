"""Values that a user writes with a unit."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from psbench.spec.messages import show, wrong
from psbench.units import parse_bytes, parse_seconds


def _seconds(value: Any) -> float:
    if not isinstance(value, str):
        raise wrong(f"expected a time with its unit, such as '20 ms', got {show(value)}")
    return parse_seconds(value)


def _nbytes(value: Any) -> int:
    if not isinstance(value, str):
        raise wrong(f"expected a size with its unit, such as '4 MiB', got {show(value)}")
    return parse_bytes(value)


Duration = Annotated[
    float,
    Field(gt=0),
    BeforeValidator(_seconds),
    PlainSerializer(lambda seconds: f"{seconds!r} s", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["20 ms", "50 us", "10 min"]}),
]
"""Seconds, written with a unit; as JSON in the base unit: "0.02 s"."""

Size = Annotated[
    int,
    Field(lt=2**63),
    BeforeValidator(_nbytes),
    PlainSerializer(lambda nbytes: f"{nbytes} B", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["4 MiB", "25 MB", "0 B"]}),
]
"""Bytes, written with a unit; as JSON in the base unit: "4194304 B"."""
