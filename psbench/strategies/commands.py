"""The commands a step is made of. A strategy yields them; an engine carries them out.

What starts when its command is yielded gives a handle; `Wait(handle)` ends it.
"""

import itertools
from dataclasses import dataclass
from typing import Literal

from psbench.parts import even_parts
from psbench.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range [start, stop) of the flat vector, such as a bucket of it."""

    index: int
    start: int
    stop: int


def even_spans(numel: int, number: int) -> tuple[Span, ...]:
    """Return `number` even parts of a flat vector of `numel` elements."""
    bounds = even_parts(numel, number).tolist()
    return tuple(
        Span(index=i, start=a, stop=b) for i, (a, b) in enumerate(itertools.pairwise(bounds))
    )


def buckets(numel: int, most: int | None) -> tuple[Span, ...]:
    """Return as few even parts as have at most `most` elements each; one where that is None."""
    number = 1 if most is None else -(-numel // most)
    return even_spans(numel, max(1, number))


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A range of the flat vector that `server` keeps; its index counts those of that server."""

    server: int
    span: Span


Reduce = Literal["mean", "sum"]
WireDtype = Literal["bf16", "fp16"]


@dataclass(frozen=True, kw_only=True)
class Compute:
    """Add the gradient of one of `parts` even parts of this rank's slice to the flat gradient
    vector, which part 0 clears.

    `reduce` is what the ranks' gradients are summed for. "mean": each is its slice's mean gradient
    times the slice's share of the global batch, so that the sum is the mean over the batch. "sum":
    it is the slice's mean gradient; so is it with None, where nothing is summed. The loss that
    travels with it sums to its mean over the batch in both, and is the slice's own with None.

    With `overlap` it only starts, and gives a handle: what follows is carried out meanwhile.
    """

    reduce: Reduce | None
    part: int = 0
    parts: int = 1
    overlap: bool = False


@dataclass(frozen=True, kw_only=True)
class ComputeByDdp:
    """Compute, as above, with PyTorch's DistributedDataParallel, which sums the gradients over all
    ranks while it computes the last part. `bucket` is the most elements of one of its buckets."""

    reduce: Reduce
    part: int
    parts: int
    bucket: int | None


@dataclass(frozen=True, kw_only=True)
class Ready:
    """Wait until the gradients of a bucket are computed; `handle` is of the computing."""

    handle: object
    bucket: Span


@dataclass(frozen=True, kw_only=True)
class AllReduce:
    """Sum a bucket of the gradients over all ranks, by `schedule` or by the backend's own way.

    With a `wire_dtype` gradients are rounded to that when they are sent, and all ranks' sums to it
    in the end, so that all hold the same; each sum is formed in the gradients' own dtype.
    """

    bucket: Span
    schedule: Schedule | None
    wire_dtype: WireDtype | None = None


@dataclass(frozen=True, kw_only=True)
class Push:
    """Send a shard of the gradients to its server; over when its answer, the shard's parameters
    after the push was settled, has arrived: in the centre, where a rank keeps one. A worker pushes
    and pulls all its shards in one and the same order in every step."""

    shard: Shard


@dataclass(frozen=True, kw_only=True)
class Pull:
    """Ask a server for its shard's parameters as they stand; they arrive as a push's answer."""

    shard: Shard


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Wait for what a handle stands for."""

    handle: object


@dataclass(frozen=True, kw_only=True)
class Apply:
    """Step this rank's own optimiser with the flat gradient vector."""


@dataclass(frozen=True, kw_only=True)
class Outer:
    """SGD with momentum, as in torch.optim, by which ranks step what they agree on."""

    lr: float
    momentum: float = 0.0
    nesterov: bool = False


@dataclass(frozen=True, kw_only=True)
class Elastic:
    """How a server takes in the parameters of a rank, by which it moves its own the share `alpha`
    of their way there."""

    alpha: float


@dataclass(frozen=True, kw_only=True)
class KeepCentre:
    """Keep the parameters as they stand as this rank's copy of the centre: what ranks agree on
    that train by themselves in between. The loss that travels with it is, whenever it changes, that
    of the parameters, too. `outer` is the centre's own optimiser; None where servers have it."""

    outer: Outer | None = None


@dataclass(frozen=True, kw_only=True)
class OuterGradient:
    """Set the flat gradient vector to the way back from this rank's parameters to the centre,
    centre - parameters, times its slice's share of the global batch: summed over the ranks, that is
    the mean. The loss that travels with it is the slice's own, times the same share; infinite where
    that has run away, so that all ranks learn of it, and end, at one step."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Set the flat gradient vector to this rank's parameters. The loss that travels with it is as
    of OuterGradient, but not for a share."""


@dataclass(frozen=True, kw_only=True)
class ApplyOuter:
    """Step the centre with the flat gradient vector."""


@dataclass(frozen=True, kw_only=True)
class Approach:
    """Move the parameters the share `rate` of their way to the centre; by 1 they are the
    centre's."""

    rate: float


Command = (
    Compute
    | ComputeByDdp
    | Ready
    | AllReduce
    | Push
    | Pull
    | Wait
    | Apply
    | KeepCentre
    | OuterGradient
    | Offer
    | ApplyOuter
    | Approach
)
