"""What asynchronous servers make of the delay of a gradient: the learning-rate rules."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field

from psbench.spec.messages import show, unknown, wrong
from psbench.spec.names import LR_RULES, LrRuleKind
from psbench.spec.structure import Frozen

Strength = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]


class Unchanged(Frozen):
    """The task's learning rate, whatever the delay."""

    kind: Literal["none"]


class InverseWorkers(Frozen):
    """The learning rate divided by the number of workers."""

    kind: Literal["inverse_workers"]


class StalenessAware(Frozen):
    """The learning rate divided by the staleness of the gradient, where that is over 1 (Zhang et
    al. 2016)."""

    kind: Literal["staleness_aware"]


class DelayCompensated(Frozen):
    """Gradients corrected for what changed since their parameters were pulled: DC-ASGD-c (Zheng et
    al. 2017)."""

    kind: Literal["delay_compensated"]
    strength: Strength = 0.04
    """of the correction: the paper's lambda"""


class AdaptivelyDelayCompensated(Frozen):
    """Gradients corrected by a strength that is adapted to each parameter: DC-ASGD-a (Zheng et al.
    2017)."""

    kind: Literal["delay_compensated_adaptive"]
    strength: Strength = 2.0
    """of the correction, before it is divided by the root of the gradients' mean square: the
    paper's lambda 0"""
    decay: Decay = 0.95
    """of that mean square, a moving average: the paper's m"""


AnyLrRule = (
    Unchanged | InverseWorkers | StalenessAware | DelayCompensated | AdaptivelyDelayCompensated
)


def _named(value: Any) -> Any:
    """Return the map that a name is short for."""
    if isinstance(value, str):
        if value not in LR_RULES:
            raise wrong(unknown("lr_rule", value, LR_RULES))
        return {"kind": value}
    if not isinstance(value, dict | Frozen):
        raise wrong(f"expected a name ({', '.join(LR_RULES)}) or a map, got {show(value)}")
    return value


LrRule = Annotated[
    AnyLrRule,
    Discriminator("kind"),
    BeforeValidator(_named, json_schema_input_type=LrRuleKind | AnyLrRule),
]
