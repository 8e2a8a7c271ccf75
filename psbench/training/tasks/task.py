"""The protocol of a task: a model with its data, loss and accuracy, and how it is used."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_INITIAL = 2  # tells this use of (seed, repeat) apart from others
_PIECE = 256  # samples evaluated at once, so that memory stays bounded

DTYPES = {"float32": torch.float32, "float64": torch.float64}
WIRE_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, kw_only=True)
class Data:
    """Samples: `inputs` of shape (n, ...) and `targets` of shape (n, ...), n of them in each.

    Floating-point tensors are converted to the dtype of the spec's task, whole numbers (tokens,
    labels) stay as they are.
    """

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, chosen: "slice | Tensor") -> "Data":
        return Data(inputs=self.inputs[chosen], targets=self.targets[chosen])

    def to(self, dtype: torch.dtype, device: torch.device | None = None) -> "Data":
        """Return the same samples with floating-point tensors in `dtype`, and on `device` where one
        is named."""
        inputs, targets = _cast(self.inputs, dtype), _cast(self.targets, dtype)
        return Data(inputs=inputs.to(device=device), targets=targets.to(device=device))


@dataclass(frozen=True, kw_only=True)
class Task:
    """A model and what it is trained on: what a function named by `task.model` returns.

        def build(width: int = 32) -> psbench.Task:
            return psbench.Task(
                model=lambda: nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 1)),
                loss=lambda model, inputs, targets: functional.mse_loss(model(inputs), targets),
                data=measurements,
            )

    Keywords of the function come from `task.options`, and the keyword `data`, a `pathlib.Path`,
    from `task.data`. Each process calls it, and all must get the same.

    - `model()` builds the network on the CPU and draws its initial parameters from torch's global
      generator, as layers do: it is seeded before. They are converted to the spec's dtype.
    - `data()` returns (training, held out): the same samples in every process, so draw from a
      generator with a seed of its own.
    - `loss(model, inputs, targets)` is a scalar, the mean over the samples it is given. Which
      samples it is given depends on the number of workers, so no sample's part in it may depend on
      the others, on chance, or on calls before: no batch norm and no dropout. Model and samples
      are then on a GPU where the spec says so, and what it makes itself must be where they are.
    - `accuracy(model, inputs, targets)` is the fraction right, also a mean over samples; None where
      there is no such thing.
    """

    model: Callable[[], nn.Module]
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor]
    data: Callable[[], tuple[Data, Data]]
    accuracy: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None


def cross_entropy(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy in nats of a classifier, scores of shape (n, classes)."""
    return functional.cross_entropy(model(inputs), targets)


def share_right(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Share of samples whose class has the highest score of (n, classes)."""
    scores: Tensor = model(inputs)
    return (scores.argmax(1) == targets).double().mean()


def build_model(task: Task, dtype: torch.dtype, *, seed: int, repeat: int) -> nn.Module:
    """Build the task's model with the initial parameters of (seed, repeat)."""
    with torch.random.fork_rng(devices=[]):
        key = [seed, repeat, _INITIAL]
        torch.manual_seed(int(np.random.SeedSequence(key).generate_state(1)[0]))
        return task.model().to(dtype)


@torch.no_grad()
def evaluate(task: Task, model: nn.Module, data: Data) -> tuple[float, float | None]:
    """Return (mean loss, accuracy) of `model` on `data`; None for an accuracy the task lacks."""
    loss = right = 0.0
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        loss += float(task.loss(model, piece.inputs, piece.targets)) * len(piece)
        if task.accuracy is not None:
            right += float(task.accuracy(model, piece.inputs, piece.targets)) * len(piece)
    return loss / len(data), None if task.accuracy is None else right / len(data)


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
