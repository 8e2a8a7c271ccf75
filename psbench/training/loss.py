"""A task's loss as a module, so that what wraps modules can wrap a whole forward pass."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from psbench.training.tasks import Task

Wrap = Callable[[nn.Module], Any]
"""Makes of a module one that also sums its gradients over all ranks, by a backward pass, to their
mean: PyTorch's DistributedDataParallel."""


class Loss(nn.Module):
    """The mean loss of a model on some samples.

    `carried`, a parameter of shape (1,), takes part without changing the value: its gradient is
    the loss, times a factor, so that the loss is summed wherever gradients are.
    """

    def __init__(self, task: Task, model: nn.Module, carried: Tensor, gradient: Tensor) -> None:
        super().__init__()
        self._task = task
        self.model = model
        self.carried = nn.Parameter(carried)
        self.carried.grad = gradient

    def forward(self, inputs: Tensor, targets: Tensor, factor: float) -> Tensor:
        """Return the mean loss, shape ()."""
        loss: Tensor = self._task.loss(self.model, inputs, targets)
        nothing = self.carried - self.carried.detach()
        return loss + torch.sum(nothing * (factor * loss.detach()))
