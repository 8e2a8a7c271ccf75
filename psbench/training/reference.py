"""The single-process run that every synchronous strategy is held against.

Plain PyTorch: the whole global batch at once, the model's own tensors, torch.optim on them. It
shares with the strategies the task, the initial parameters and the batches, and nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from psbench.spec import Cell, ModelTask
from psbench.training.batches import GlobalBatches
from psbench.training.optimizers import build_optimizer
from psbench.training.tasks import DTYPES, build_model, build_task


@dataclass(frozen=True, kw_only=True)
class ReferenceStep:
    """One step: the loss and gradient at the parameters before it, and the parameters after it.

    `gradient` and `parameters` are flat copies in registration order, shape (num_parameters,).
    """

    loss: float
    gradient: Tensor
    parameters: Tensor


def reference(cell: Cell, *, seed: int, repeat: int) -> Iterator[ReferenceStep]:
    """Yield the steps of a single-process run of a cell's model at its global batch."""
    assert isinstance(cell.task, ModelTask)
    task, dtype = build_task(cell.task), DTYPES[cell.task.dtype]
    model = build_model(task, dtype, seed=seed, repeat=repeat)
    optimizer = build_optimizer(cell.task.optimizer, list(model.parameters()))
    train = task.data()[0].to(dtype)
    batches = GlobalBatches(len(train), cell.global_batch, seed=seed, repeat=repeat)
    for step in range(cell.steps):
        chosen = torch.from_numpy(batches.indices(step))
        optimizer.zero_grad()
        loss = task.loss(model, train.inputs[chosen], train.targets[chosen])
        loss.backward()  # type: ignore[no-untyped-call]
        gradient = _flat([p.grad for p in model.parameters() if p.grad is not None])
        optimizer.step()
        yield ReferenceStep(loss=loss.item(), gradient=gradient, parameters=_flat_of(model))


def _flat_of(model: nn.Module) -> Tensor:
    return _flat([p.detach() for p in model.parameters()])


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([t.reshape(-1) for t in tensors])
