"""How long computing a step takes, where the spec and not the machine is to say so."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from psbench.spec.messages import show, wrong
from psbench.spec.quantities import Duration
from psbench.spec.structure import Frozen


def _tuple(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise wrong(f"expected a list of maps with rank and factor, got {show(value)}")
    return tuple(value)


class Slow(Frozen):
    """A rank whose steps take `factor` times as long, each with the given probability."""

    rank: Annotated[int, Field(ge=0)]
    factor: Annotated[float, Field(gt=0, le=1e6)]
    probability: Annotated[float, Field(gt=0, le=1)] = 1.0


class Stragglers(Frozen):
    """Steps of any rank that take longer with the given probability, each by a factor of its own:
    Pareto's, at least 1 and more than x with probability x ** -shape."""

    probability: Annotated[float, Field(gt=0, le=1)]
    shape: Annotated[float, Field(gt=0, le=100)]
    """tail index: the smaller, the longer the longest"""
    most: Annotated[float, Field(ge=1, le=1e6)] = 100.0
    """the greatest factor"""


class Compute(Frozen):
    """The time a rank computes in a step: a live engine sleeps what is left of it."""

    seconds: Duration
    """mean time of a step, with its unit, such as 20 ms"""
    jitter: Annotated[float, Field(ge=0, le=10)] = 0.0
    """standard deviation of a step's time over its mean; lognormal"""
    slow: Annotated[tuple[Slow, ...], BeforeValidator(_tuple)] = ()
    """ranks that are slower"""
    stragglers: Stragglers | None = None
    """steps that take long now and then, whichever rank's; null: none"""
