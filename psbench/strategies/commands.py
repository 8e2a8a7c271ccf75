"""The commands a step is made of. A strategy yields them; an engine carries them out.

Communication starts when its command is yielded and gives a handle; `Wait(handle)` ends it.
"""

from dataclasses import dataclass
from typing import Literal

from psbench.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range [start, stop) of the flat vector: a bucket of it, or a server's shard."""

    index: int
    start: int
    stop: int


Reduce = Literal["mean", "sum"]


@dataclass(frozen=True, kw_only=True)
class Compute:
    """Add the gradient of one of `parts` even parts of this rank's slice to the flat gradient
    vector, which part 0 clears.

    `reduce` is what the ranks' gradients are summed for. "mean": each is its slice's mean gradient
    times the slice's share of the global batch, so that the sum is the mean over the batch. "sum":
    it is the slice's mean gradient; so is it with None, where nothing is summed. The loss that
    travels with it sums to its mean over the batch in both, and is the slice's own with None.
    """

    reduce: Reduce | None
    part: int = 0
    parts: int = 1


@dataclass(frozen=True, kw_only=True)
class AllReduce:
    """Sum a bucket of the gradients over all ranks, by `schedule` or by the backend's own way."""

    bucket: Span
    schedule: Schedule | None


@dataclass(frozen=True, kw_only=True)
class Push:
    """Send a shard of the gradients to its server; over when its answer, the shard's parameters
    after the push was applied, has arrived."""

    shard: Span


@dataclass(frozen=True, kw_only=True)
class Pull:
    """Ask a server for its shard's parameters as they stand."""

    shard: Span


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Wait for what a handle stands for."""

    handle: object


@dataclass(frozen=True, kw_only=True)
class Apply:
    """Step this rank's own optimiser with the flat gradient vector."""


Command = Compute | AllReduce | Push | Pull | Wait | Apply
