"""The single-process run that every synchronous strategy is held against, in values and in time.

Plain PyTorch: the whole global batch at once, the model's own tensors, torch.optim on them. It
shares with the strategies the task, the initial parameters and the batches, and nothing else.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from psbench.spec import Cell, ModelTask
from psbench.training.batches import GlobalBatches
from psbench.training.optimizers import build_optimizer
from psbench.training.tasks import DTYPES, build_model, build_task

_CPU = torch.device("cpu")


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
    model, one_step = _prepare(cell, seed=seed, repeat=repeat)
    for step in range(cell.steps):
        loss = one_step(step)
        gradient = _flat([p.grad for p in model.parameters() if p.grad is not None])
        yield ReferenceStep(loss=loss.item(), gradient=gradient, parameters=_flat_of(model))


def bare_loop(
    cell: Cell, *, seed: int, repeat: int, device: torch.device = _CPU
) -> tuple[float, Tensor]:
    """Train a cell's model; return (seconds of the steps after the warm-up, flat parameters)."""
    model, one_step = _prepare(cell, seed=seed, repeat=repeat, device=device)
    started = time.monotonic()
    for step in range(cell.steps):
        if step == cell.warmup:
            started = _time_when_done(device)
        one_step(step)
    return _time_when_done(device) - started, _flat_of(model)


def _time_when_done(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.monotonic()


def _prepare(
    cell: Cell, *, seed: int, repeat: int, device: torch.device = _CPU
) -> tuple[nn.Module, Callable[[int], Tensor]]:
    """Return the model, and a function that makes the step of a number and returns its loss."""
    assert isinstance(cell.task, ModelTask)
    assert cell.optimizer is not None
    task, dtype = build_task(cell.task), DTYPES[cell.task.dtype]
    model = build_model(task, dtype, seed=seed, repeat=repeat).to(device)
    optimizer = build_optimizer(cell.optimizer, list(model.parameters()))
    train = task.data()[0].to(dtype, device)
    batches = GlobalBatches(len(train), cell.global_batch, seed=seed, repeat=repeat)

    def one_step(step: int) -> Tensor:
        chosen = torch.from_numpy(batches.indices(step))
        optimizer.zero_grad()
        loss = task.loss(model, train.inputs[chosen], train.targets[chosen])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss

    return model, one_step


def _flat_of(model: nn.Module) -> Tensor:
    return _flat([p.detach() for p in model.parameters()])


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([t.reshape(-1) for t in tensors])
