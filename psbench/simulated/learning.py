"""Real gradients in virtual time: every rank's learner, and the servers' stores, in one process.

The only part of `simulated` that needs torch.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy.typing as npt
import torch
from torch import Tensor

from psbench.parameter_server import ShardStore
from psbench.schedules import execute
from psbench.spec import Trial
from psbench.strategies import AllReduce, Command, Compute, Elastic, Outer, Span
from psbench.training import (
    WIRE_DTYPES,
    Learner,
    OwnVectors,
    build_learner,
    check_tasks,
    stepped_by,
)
from psbench.training.own_vectors import Update

Array = npt.NDArray[Any]

__all__ = ["RealVectors", "check_tasks"]


class RealVectors:
    """The learners of all ranks, each with parameters and gradients of its own, and what servers
    make of the initial parameters.

    Memory: what a live run takes, in one process.
    """

    is_real = True

    def __init__(self, trial: Trial) -> None:
        cell = trial.cell
        self._learners = [
            build_learner(cell, seed=trial.seed, repeat=trial.repeat, rank=rank)
            for rank in range(cell.workers)
        ]
        self._threads = cell.cpus_per_process
        self.ranks = [_RealRank(learner) for learner in self._learners]
        gradients = self._learners[0].gradients
        self.numel, self.itemsize = gradients.numel(), gradients.itemsize
        self.carries_loss = self._learners[0].carried > 0

    @contextmanager
    def computing(self) -> Iterator[None]:
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)  # the last bits depend on it
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def sum(self, command: AllReduce) -> None:
        span = command.bucket
        parts = [learner.gradients[span.start : span.stop] for learner in self._learners]
        if command.schedule is None:
            total = parts[0].clone()
            for part in parts[1:]:
                total.add_(part)
            results = [total] * len(parts)
        else:
            rounded = _rounding(WIRE_DTYPES[command.wire_dtype]) if command.wire_dtype else None
            held = execute(command.schedule, [part.numpy() for part in parts], rounded=rounded)
            results = [torch.from_numpy(own) for own in held]
        for part, result in zip(parts, results, strict=True):
            part.copy_(result)

    def store(self, span: Span, outer: Outer | Elastic | None) -> ShardStore:
        # an initial parameter is one on every rank, so any of them will do
        store = self._learners[0].store(span.start, span.stop, by=stepped_by(outer))
        return cast(ShardStore, store)

    def copy(self, vector: Tensor) -> Tensor:
        return vector.clone()

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(parts))

    def last(self, vector: Tensor) -> float:
        return float(vector[-1])

    def evaluate(self, parameters: Tensor) -> tuple[float, float | None]:
        return self._learners[0].evaluate(parameters)


class _RealRank:
    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._own = OwnVectors(learner)

    def compute(self, command: Compute, step: int) -> int:
        return self._learner.compute(
            step, reduce=command.reduce, part=command.part, parts=command.parts
        )

    def update(self, command: Command) -> None:
        self._own.update(cast(Update, command))

    def gradients(self, span: Span) -> Tensor:
        return self._learner.gradients[span.start : span.stop].clone()

    def take(self, span: Span, parameters: Tensor) -> None:
        self._own.agreed[span.start : span.stop] = parameters
        self._own.took_answer()

    def agreed(self) -> Tensor:
        return self._own.agreed.clone()

    def loss(self) -> float:
        return self._learner.loss()


def _rounding(wire: torch.dtype) -> Callable[[Array], Array]:
    """Return what rounds an array to what a dtype can hold."""

    def rounded(values: Array) -> Array:
        tensor = torch.from_numpy(values)
        array: Array = tensor.to(wire).to(tensor.dtype).numpy()
        return array

    return rounded
