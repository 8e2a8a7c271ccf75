"""The vectors of a trial in virtual time: real ones, or none where only time is asked."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from psbench.parameter_server import NullStore, ShardStore
from psbench.parts import even_parts, part_sizes
from psbench.strategies import AllReduce, Command, Compute, Elastic, Outer, Span

Vector = Any
"""A flat vector; None where there are none."""


class RankVectors(Protocol):
    """What one rank holds."""

    def compute(self, command: Compute, step: int) -> int:
        """Compute gradients as the command says; return the sample count."""

    def update(self, command: Command) -> None:
        """Carry out a command that concerns the vectors of this rank alone."""

    def gradients(self, span: Span) -> Vector:
        """Return a copy of a part of the gradients."""

    def take(self, span: Span, parameters: Vector) -> None:
        """Set a part of what ranks agree on to what a server has answered."""

    def agreed(self) -> Vector:
        """Return a copy of what ranks have agreed on."""

    def loss(self) -> float:
        """Return the loss that the parameters carry; NaN where there is none."""


class Vectors(Protocol):
    """What all ranks and servers of a trial hold."""

    numel: int
    itemsize: int
    """B"""
    carries_loss: bool
    is_real: bool
    """whether there is anything to look at"""

    @property
    def ranks(self) -> Sequence[RankVectors]:
        """What each rank holds."""

    def computing(self) -> AbstractContextManager[object]:
        """Compute, within this context, as a live process of the trial does."""

    def sum(self, command: AllReduce) -> None:
        """Sum a bucket of the gradients over all ranks, with the bits of a live run."""

    def store(self, span: Span, outer: Outer | Elastic | None) -> ShardStore:
        """Return the store of a server's shard, of a copy of the initial parameters."""

    def copy(self, vector: Vector) -> Vector:
        """Return a copy of a vector."""

    def join(self, parts: Sequence[Vector]) -> Vector:
        """Return a copy of vectors put one behind the other."""

    def last(self, vector: Vector) -> float:
        """Return the last element of a vector."""

    def evaluate(self, parameters: Vector) -> tuple[float, float | None]:
        """Return (loss, accuracy) on the held-out samples."""


class SilentVectors:
    """Nothing but lengths: `numel` elements, and `batch` samples a step over so many `workers`."""

    carries_loss = False
    is_real = False

    def __init__(self, *, numel: int, itemsize: int, batch: int, workers: int) -> None:
        self.numel = numel
        self.itemsize = itemsize
        self.ranks = [_SilentRank(own) for own in part_sizes(batch, workers).tolist()]

    def computing(self) -> AbstractContextManager[object]:
        return nullcontext()

    def sum(self, command: AllReduce) -> None:
        return None

    def store(self, span: Span, outer: Outer | Elastic | None) -> ShardStore:
        return NullStore()

    def copy(self, vector: Vector) -> None:
        return None

    def join(self, parts: Sequence[Vector]) -> None:
        return None

    def last(self, vector: Vector) -> float:
        return float("nan")

    def evaluate(self, parameters: Vector) -> tuple[float, float | None]:
        return float("nan"), None


class _SilentRank:
    def __init__(self, samples: int) -> None:
        self._samples = samples

    def compute(self, command: Compute, step: int) -> int:
        if command.parts == 1:
            return self._samples
        bounds = even_parts(self._samples, command.parts)
        return int(bounds[command.part + 1] - bounds[command.part])

    def update(self, command: Command) -> None:
        return None

    def gradients(self, span: Span) -> None:
        return None

    def take(self, span: Span, parameters: Vector) -> None:
        return None

    def agreed(self) -> None:
        return None

    def loss(self) -> float:
        return float("nan")
