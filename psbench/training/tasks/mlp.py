"""A perceptron of any size: how does the cost of synchronising grow with the parameters?"""

import math
from functools import cache

import numpy as np
import torch
from torch import nn

from psbench.spec import ModelTask
from psbench.training.tasks.arrays import features_and_classes, read_samples
from psbench.training.tasks.task import Data, Task, cross_entropy, share_right

_FEATURES, _CLASSES = 64, 10
_TRAIN, _HELD_OUT = 4096, 1024
_TEACHER_SEED = 0
_TEACHER_WIDTH = 16


def mlp(spec: ModelTask) -> Task:
    """features -> h -> h -> classes with ReLU, h such that the size is closest to the wanted one.

    The size is h^2 + (features + classes + 2) h + classes: weights features x h, h x h and
    h x classes, and h, h and classes biases. On the teacher's data h^2 + 76 h + 10.
    """
    assert spec.parameters is not None
    train, held_out = teacher_data() if spec.data is None else read_samples(spec.data)
    features, classes = features_and_classes(train, held_out)
    width = hidden_width(spec.parameters, features=features, classes=classes)

    def model() -> nn.Module:
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(features, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, classes),
        )

    return Task(
        model=model, loss=cross_entropy, data=lambda: (train, held_out), accuracy=share_right
    )


def hidden_width(parameters: int, *, features: int, classes: int) -> int:
    """Return the h >= 1 whose size is closest to `parameters`, the smaller of two as close."""

    def size(width: int) -> int:
        return width * (width + linear) + classes

    linear = features + classes + 2
    root = (math.isqrt(linear**2 + 4 * max(0, parameters - classes)) - linear) // 2
    below = max(1, root)
    return min(below, below + 1, key=lambda width: abs(size(width) - parameters))


@cache
def teacher_data() -> tuple[Data, Data]:
    """64 standard normal inputs, and which of 10 classes a fixed network scores highest.

    The teacher is 64 -> 16 -> 10 with ReLU and standard normal weights, its scores less their
    means, so that no class is rare. 4096 samples to train on, 1024 held out; the same on every
    host, being drawn by numpy's own generator.
    """
    generator = np.random.default_rng(_TEACHER_SEED)
    inputs = generator.standard_normal((_TRAIN + _HELD_OUT, _FEATURES))
    first = generator.standard_normal((_FEATURES, _TEACHER_WIDTH))
    second = generator.standard_normal((_TEACHER_WIDTH, _CLASSES))
    scores = np.maximum(inputs @ first, 0) @ second
    targets = (scores - scores.mean(0)).argmax(1)
    whole = Data(inputs=torch.from_numpy(inputs), targets=torch.from_numpy(targets))
    return whole[:_TRAIN], whole[_TRAIN:]
