"""The commands a step is made of. A strategy yields them; an engine carries them out.

Communication starts when its command is yielded and gives a handle; `Wait(handle)` ends it.
"""

from dataclasses import dataclass

from psbench.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range [start, stop) of the flat vector: a bucket of it, or a server's shard."""

    index: int
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Compute:
    """Compute the gradient of this rank's slice into the flat gradient vector.

    With `share` it is the slice's mean gradient times the slice's share of the global batch, so
    that summing over ranks gives the mean over the batch; without, the slice's own mean.
    """

    share: bool


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
