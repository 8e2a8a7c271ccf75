"""Values that a user writes with a unit."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from psbench.spec.messages import show, wrong
from psbench.units import parse_bytes, parse_rate, parse_seconds


def written(parse: Callable[[str], float], what: str, *, example: str) -> BeforeValidator:
    """Return what reads a value from a text with a unit: `what`, as in `example`."""

    def read(value: Any) -> float:
        if not isinstance(value, str):
            raise wrong(f"expected a {what} with its unit, such as '{example}', got {show(value)}")
        return parse(value)

    return BeforeValidator(read)


Duration = Annotated[
    float,
    Field(gt=0),
    written(parse_seconds, "time", example="20 ms"),
    PlainSerializer(lambda seconds: f"{seconds!r} s", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["20 ms", "50 us", "10 min"]}),
]
"""Seconds, written with a unit; as JSON in the base unit: "0.02 s"."""

Delay = Annotated[
    float,
    Field(ge=0),
    written(parse_seconds, "time", example="50 us"),
    PlainSerializer(lambda seconds: f"{seconds!r} s", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["50 us", "0 s"]}),
]
"""Seconds as Duration, which may also be none."""

Rate = Annotated[
    float,
    Field(gt=0),
    written(parse_rate, "rate", example="10 Gbit/s"),
    PlainSerializer(lambda rate: f"{rate!r} B/s", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["10 Gbit/s", "25 GB/s"]}),
]
"""Bytes a second, written with a unit; as JSON in the base unit: "1250000000.0 B/s"."""

Size = Annotated[
    int,
    Field(lt=2**63),
    written(parse_bytes, "size", example="4 MiB"),
    PlainSerializer(lambda nbytes: f"{nbytes} B", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["4 MiB", "25 MB", "0 B"]}),
]
"""Bytes, written with a unit; as JSON in the base unit: "4194304 B"."""
