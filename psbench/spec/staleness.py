"""How stale the gradients that servers take may be, or are made to be."""

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from psbench.spec.messages import conflict, show, wrong
from psbench.spec.structure import Frozen


def _bound(value: Any) -> Any:
    if value is None or value == "inf":
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(f"expected a whole number or inf, got {show(value)}")
    if value < 0:
        raise wrong(f"must be at least 0, got {show(value)}")
    return value


Bound = Annotated[int | Literal["inf"], BeforeValidator(_bound)]
"""Steps, or without a limit."""


def _tuple(value: Any) -> Any:
    if value is None or isinstance(value, tuple):
        return value
    if not isinstance(value, list) or not value:
        raise wrong(f"expected a list of numbers, got {show(value)}")
    return tuple(value)


Versions = Annotated[int, Field(ge=0, le=10_000)]
Weight = Annotated[float, Field(gt=0)]


class InjectedStaleness(Frozen):
    """How stale updates are made to be; a whole number is short for one that all have."""

    versions: Annotated[tuple[Versions, ...], BeforeValidator(_tuple)]
    """the versions made between what a gradient was computed from and what it is applied to: one
    of these, drawn anew for each update; a server keeps as many copies of the parameters"""
    weights: Annotated[tuple[Weight, ...] | None, BeforeValidator(_tuple)] = None
    """how often each is drawn, in any unit; null: all alike"""

    def __str__(self) -> str:
        return " or ".join(map(str, self.versions))

    @field_validator("versions")
    @classmethod
    def _once_each(cls, versions: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(versions)) < len(versions):
            raise wrong(f"expected different numbers, got {show(list(versions))}")
        return versions

    @field_validator("weights")
    @classmethod
    def _one_each(cls, weights: tuple[float, ...] | None, info: ValidationInfo) -> Any:
        number = len(info.data.get("versions", ()))
        if weights is not None and number and len(weights) != number:
            raise conflict(f"{len(weights)} for {number} versions")
        if weights is not None and not math.isfinite(sum(weights)):
            raise wrong("too great: their sum must be finite")
        return weights


def staleness_map(value: Any) -> Any:
    """Return what a whole number is short for; anything else as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"versions": [value]}
    if value is not None and not isinstance(value, dict | InjectedStaleness):
        raise wrong(f"expected a whole number or a map, got {show(value)}")
    return value
