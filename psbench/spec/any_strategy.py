"""Any strategy, and what the other fields of a cell ask of it."""

from typing import Annotated

from pydantic import BeforeValidator, Discriminator

from psbench.spec.local_steps import DiLoCo, Easgd, LocalSgd
from psbench.spec.short_names import label, named
from psbench.spec.strategy import AllReduce, Bare, Ddp, Native, NoSync, ParameterServer

LocalSteps = LocalSgd | DiLoCo | Easgd
AnyStrategy = AllReduce | ParameterServer | Native | Ddp | NoSync | Bare | LocalSteps
Strategy = Annotated[
    AnyStrategy,
    Discriminator("kind"),
    BeforeValidator(named),
]


def carrier(strategy: AnyStrategy) -> AnyStrategy:
    """Return the strategy by whose way bytes move: another than itself where it goes over one."""
    return strategy.over if isinstance(strategy, LocalSteps) else strategy


def sums_over_ranks(strategy: AnyStrategy) -> bool:
    """Say whether an update rests on the gradients of all ranks together."""
    if isinstance(strategy, ParameterServer):
        return strategy.consistency == "synchronous"
    return isinstance(strategy, AllReduce | Native | Ddp)


def is_colocated(strategy: AnyStrategy) -> bool:
    """Say whether there are servers, on the hosts of the workers."""
    strategy = carrier(strategy)
    return isinstance(strategy, ParameterServer) and strategy.placement == "colocated"


def needs_own_all_reduce(strategy: AnyStrategy) -> bool:
    """Say whether the transport's own all-reduce is what sums."""
    return isinstance(carrier(strategy), Native | Ddp)


def strategy_label(strategy: AnyStrategy) -> str:
    """Return the strategy's short name, with what differs from it: "ring(chunks=8, overlap)"."""
    return label(strategy)
