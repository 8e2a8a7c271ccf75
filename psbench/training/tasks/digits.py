"""Handwritten digits: small enough for any machine, real enough to be learned."""

from functools import cache

from torch import nn

from psbench.spec import ModelTask
from psbench.training.tasks.arrays import split
from psbench.training.tasks.task import Data, Task, cross_entropy, share_right


def digits_mlp(spec: ModelTask) -> Task:
    """64 -> 128 -> 10 with ReLU: 9,610 parameters."""
    return Task(model=_mlp, loss=cross_entropy, data=digits, accuracy=share_right)


def digits_cnn(spec: ModelTask) -> Task:
    """Two 3x3 convolutions, a pooling and two linear layers: 38,282 parameters."""
    return Task(model=_cnn, loss=cross_entropy, data=digits, accuracy=share_right)


@cache
def digits() -> tuple[Data, Data]:
    """8x8 grey values in [0, 1] (UCI, shipped with scikit-learn), cut 1437 / 360."""
    from sklearn.datasets import load_digits

    source = load_digits()
    return split(source.images[:, None] / 16.0, source.target)


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def _cnn() -> nn.Module:
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
