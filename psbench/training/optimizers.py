"""torch.optim on one flat vector."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from psbench.spec import Adam, Sgd

OPTIMIZERS: dict[str, Callable[[list[Tensor], Any], torch.optim.Optimizer]] = {
    "sgd": lambda tensors, o: torch.optim.SGD(
        tensors, lr=o.lr, momentum=o.momentum, nesterov=o.nesterov
    ),
    "adam": lambda tensors, o: torch.optim.Adam(tensors, lr=o.lr, betas=o.betas, eps=o.eps),
}


def build_optimizer(options: Sgd | Adam, tensors: list[Tensor]) -> torch.optim.Optimizer:
    """Return torch's own optimiser over `tensors`, whose `.grad` it reads."""
    return OPTIMIZERS[options.kind](tensors, options)
