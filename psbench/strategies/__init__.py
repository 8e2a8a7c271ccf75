"""What a step does: each strategy as a pure generator of commands, interpreted by every engine."""

from collections.abc import Callable

from psbench.strategies.all_reduce import all_reduce, ddp, native
from psbench.strategies.commands import (
    AllReduce,
    Apply,
    ApplyOuter,
    Approach,
    Command,
    Compute,
    ComputeByDdp,
    Elastic,
    KeepCentre,
    Offer,
    Outer,
    OuterGradient,
    Pull,
    Push,
    Ready,
    Shard,
    Span,
    Wait,
    buckets,
)
from psbench.strategies.local_steps import diloco, easgd, local_sgd
from psbench.strategies.none import none
from psbench.strategies.parameter_server import parameter_server, shards_of
from psbench.strategies.strategy import Step, Strategy

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "all_reduce": all_reduce,
    "parameter_server": parameter_server,
    "native": native,
    "ddp": ddp,
    "none": none,
    "bare": none,  # the same step; a live engine carries it out in a plain loop
    "local_sgd": local_sgd,
    "diloco": diloco,
    "easgd": easgd,
}
"""Each kind's builder. All take `world`, `numel` (length of the flat vector), `accumulate` and
`reduce` as the cell has them, and the options of the kind; those that go `over` another kind take
its options in a map, and the cell's `steps`."""

__all__ = [
    "STRATEGIES",
    "AllReduce",
    "Apply",
    "ApplyOuter",
    "Approach",
    "Command",
    "Compute",
    "ComputeByDdp",
    "Elastic",
    "KeepCentre",
    "Offer",
    "Outer",
    "OuterGradient",
    "Pull",
    "Push",
    "Ready",
    "Shard",
    "Span",
    "Step",
    "Strategy",
    "Wait",
    "buckets",
    "shards_of",
]
