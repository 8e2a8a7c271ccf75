"""What one rank learns with: a model over flat vectors, its slice of each batch, an optimiser."""

from contextlib import nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor

from psbench.parts import even_parts
from psbench.spec import Cell, ModelTask, ParameterServer, Reduce, Sgd
from psbench.training.batches import GlobalBatches, rank_slice
from psbench.training.centre import Centre
from psbench.training.flat import Allocate, copied, flatten
from psbench.training.loss import Loss, Wrap
from psbench.training.progress import BackwardProgress, Progress
from psbench.training.store import ElasticStore, Store, TorchStore
from psbench.training.tasks import (
    DTYPES,
    Task,
    build_model,
    build_task,
    data_digest,
    evaluate,
)
from psbench.training.untrained import UntrainedLearner
from psbench.trial import untrained_numel


class Learner(Protocol):
    """A rank's side of a task. `parameters` and `gradients` are flat, of one length and dtype; the
    last `carried` elements hold the loss."""

    parameters: Tensor
    gradients: Tensor
    carried: int
    digest: str
    """of the samples, equal on all ranks of a sound trial; "" where there are none"""

    def compute(
        self,
        step: int,
        *,
        reduce: Reduce | None,
        part: int = 0,
        parts: int = 1,
        progress: Progress | None = None,
    ) -> int:
        """Add the gradient of a part of this rank's slice of the step's batch to `gradients`, as
        the command `strategies.Compute` says; return the part's sample count. `progress` is told
        which gradients are known already."""

    def distribute(self, wrap: Wrap, world: int) -> None:
        """From now on, have the last part of a `compute` also sum the gradients over all ranks."""

    def apply(self) -> None:
        """Make one optimiser step on `parameters` with `gradients`; the loss is carried over."""

    def centre(self, outer: Sgd | None) -> Centre:
        """Return a copy of the present parameters as a centre, stepped by `outer`."""

    def store(
        self,
        start: int,
        stop: int,
        *,
        by: Sgd | float | None = None,
        allocate: Allocate = torch.zeros,
    ) -> Store:
        """Return a store, for a server, of a copy of the present parameters [start, stop), in
        memory of `allocate`. It is stepped `by` the task's own optimiser (None), by another, or
        drawn by a share of the way to what comes. It clips gradients where servers of the cell are
        to."""

    def loss(self) -> float:
        """Return the loss that `parameters` carries; NaN where the task has none."""

    def evaluate(self, parameters: Tensor) -> tuple[float, float | None]:
        """Return (loss, accuracy) on the held-out samples at a copy of `parameters`; None for an
        accuracy where the task has none."""


def build_learner(
    cell: Cell, *, seed: int, repeat: int, rank: int, allocate: Allocate = torch.zeros
) -> Learner:
    """Return the learner of `rank`; `allocate(numel, dtype=)` gives the gradients' memory.

    All of the learner is on the device of that memory.
    """
    if not isinstance(cell.task, ModelTask):
        return UntrainedLearner(cell, cell.task, rank=rank, allocate=allocate)
    return ModelLearner(cell, cell.task, seed=seed, repeat=repeat, rank=rank, allocate=allocate)


def vector_nbytes(cell: Cell) -> int:
    """Return the bytes of the flat vector that the ranks of a cell sum, without reading data."""
    dtype = DTYPES[cell.task.dtype]
    if not isinstance(cell.task, ModelTask):
        return untrained_numel(cell.task) * dtype.itemsize
    model = build_model(build_task(cell.task), dtype, seed=0, repeat=0)
    numel = sum(parameter.numel() for parameter in model.parameters()) + ModelLearner.carried
    return numel * dtype.itemsize


class ModelLearner:
    """A model whose tensors are views of the flat vectors, and whose loss travels with them."""

    carried = 1

    def __init__(
        self,
        cell: Cell,
        spec: ModelTask,
        *,
        seed: int,
        repeat: int,
        rank: int,
        allocate: Allocate,
    ) -> None:
        self._task: Task = build_task(spec)
        self._optimizer = cell.optimizer
        strategy = cell.strategy
        self._clip_norm = strategy.clip_norm if isinstance(strategy, ParameterServer) else None
        dtype = DTYPES[spec.dtype]
        self._model = build_model(self._task, dtype, seed=seed, repeat=repeat)
        numel = sum(p.numel() for p in self._model.parameters()) + self.carried
        self.gradients = allocate(numel, dtype=dtype)
        device = self.gradients.device
        self.parameters = torch.zeros(numel, dtype=dtype, device=device)
        self._model.to(device)
        flatten(self._model, self.parameters, self.gradients)
        self._store = TorchStore(self.parameters, self._optimizer, carried=self.carried)
        train, held_out = self._task.data()
        self.digest = data_digest(train, held_out)
        self._train, self._held_out = train.to(dtype, device), held_out.to(dtype, device)
        batch = cell.global_batch
        self._batches = GlobalBatches(len(train), batch, seed=seed, repeat=repeat)
        self._slice = rank_slice(batch, cell.workers, rank)
        self._share = (self._slice.stop - self._slice.start) / batch
        self._backward: BackwardProgress | None = None
        self._distributed: Any = None
        self._world = 1

    def compute(
        self,
        step: int,
        *,
        reduce: Reduce | None,
        part: int = 0,
        parts: int = 1,
        progress: Progress | None = None,
    ) -> int:
        own = self._batches.indices(step)[self._slice]
        bounds = even_parts(len(own), parts)
        chosen = torch.from_numpy(own[bounds[part] : bounds[part + 1]])
        if part == 0:
            self.gradients.zero_()
        inputs, targets = self._train.inputs[chosen], self._train.targets[chosen]
        of_slice = len(chosen) / len(own)
        of_batch = of_slice * self._share
        weight = of_batch if reduce == "mean" else of_slice
        if progress is not None:
            self._follow(progress)
        if self._distributed is None:
            loss = self._task.loss(self._model, inputs, targets)
            self.gradients[-1].add_(loss.detach(), alpha=of_batch if reduce else of_slice)
            # as the gradient of the loss a weight gives the same bits as a factor, for less work
            loss.backward(loss.new_tensor(weight))  # type: ignore[no-untyped-call]
        else:
            last = part == parts - 1
            with nullcontext() if last else self._distributed.no_sync():
                loss = self._distributed(inputs, targets, of_batch / weight)
                loss.backward(loss.new_tensor(weight * self._world))
        if self._backward is not None:
            self._backward.end()
        return len(chosen)

    def distribute(self, wrap: Wrap, world: int) -> None:
        carried, gradient = self.parameters[-1:], self.gradients[-1:]
        self._distributed = wrap(Loss(self._task, self._model, carried, gradient))
        self._world = world

    def _follow(self, progress: Progress) -> None:
        if self._backward is None:
            self._backward = BackwardProgress(self._model)
        self._backward.follow(progress)

    def apply(self) -> None:
        self._store.apply([self.gradients])

    def centre(self, outer: Sgd | None) -> Centre:
        return Centre(
            self.parameters, self.gradients, outer, carried=self.carried, share=self._share
        )

    def store(
        self,
        start: int,
        stop: int,
        *,
        by: Sgd | float | None = None,
        allocate: Allocate = torch.zeros,
    ) -> Store:
        shard = copied(self.parameters[start:stop], allocate)
        carried = max(0, stop - max(start, self.parameters.numel() - self.carried))
        if isinstance(by, float):
            return ElasticStore(shard, by, carried=carried)
        optimizer = by or self._optimizer
        return TorchStore(shard, optimizer, carried=carried, clip_norm=self._clip_norm)

    def loss(self) -> float:
        return float(self.parameters[-1])

    def evaluate(self, parameters: Tensor) -> tuple[float, float | None]:
        kept = self.parameters.clone()
        self.parameters.copy_(parameters)
        result = evaluate(self._task, self._model, self._held_out)
        self.parameters.copy_(kept)
        return result
