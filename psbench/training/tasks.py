"""What is learned: models with their data, loss and metric. A new task is an entry of TASKS."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_SPLIT_SEED = 0  # one split for all runs, so that accuracies compare
_INITIAL = 2  # tells this use of (seed, repeat) apart from others
_TRAIN = 1437  # of 1797 images; the other fifth is held out


@dataclass(frozen=True, kw_only=True)
class Data:
    """Samples: `inputs` of shape (n, ...) in the task's dtype, `targets` of shape (n,), int64."""

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)

    def to(self, dtype: torch.dtype) -> "Data":
        """Return the same samples with inputs of `dtype`."""
        return Data(inputs=self.inputs.to(dtype), targets=self.targets)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A model and what it is trained on.

    `model` builds the network from torch's global generator; `loss(model, inputs, targets)` is the
    mean over the samples given; `data` returns (training, held out). No batch norm and no dropout:
    a slice's gradient must be a function of its samples and the parameters alone.
    """

    model: Callable[[], nn.Module]
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor]
    data: Callable[[], tuple[Data, Data]]


def digits_mlp() -> nn.Module:
    """64 -> 128 -> 10 with ReLU: 9,610 parameters."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def digits_cnn() -> nn.Module:
    """Two 3x3 convolutions, a pooling and two linear layers: 38,282 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


@cache
def digits() -> tuple[Data, Data]:
    """Handwritten digits, 8x8 grey values (UCI, shipped with scikit-learn), cut 1437 / 360."""
    from sklearn.datasets import load_digits

    source = load_digits()
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(source.target))
    inputs = torch.from_numpy(source.images[order] / 16.0).unsqueeze(1)
    targets = torch.from_numpy(source.target[order]).long()
    train, held_out = slice(None, _TRAIN), slice(_TRAIN, None)
    return (
        Data(inputs=inputs[train], targets=targets[train]),
        Data(inputs=inputs[held_out], targets=targets[held_out]),
    )


def cross_entropy(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy in nats."""
    return functional.cross_entropy(model(inputs), targets)


TASKS: dict[str, Task] = {
    "digits_mlp": Task(model=digits_mlp, loss=cross_entropy, data=digits),
    "digits_cnn": Task(model=digits_cnn, loss=cross_entropy, data=digits),
}

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def build_model(task: Task, dtype: torch.dtype, *, seed: int, repeat: int) -> nn.Module:
    """Build the task's model with the initial parameters of (seed, repeat)."""
    with torch.random.fork_rng(devices=[]):
        key = [seed, repeat, _INITIAL]
        torch.manual_seed(int(np.random.SeedSequence(key).generate_state(1)[0]))
        return task.model().to(dtype)


@torch.no_grad()
def evaluate(task: Task, model: nn.Module, data: Data) -> tuple[float, float]:
    """Return (mean loss, accuracy) of `model` on `data`."""
    loss = task.loss(model, data.inputs, data.targets)
    right = model(data.inputs).argmax(1) == data.targets
    return float(loss), float(right.double().mean())
