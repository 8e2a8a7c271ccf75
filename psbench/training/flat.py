"""Flat vectors: all parameters, and all gradients, of a model in one piece of memory each."""

from typing import Protocol

import torch
from torch import Tensor, nn


class Allocate(Protocol):
    """Gives a flat vector of zeros, in memory that the transport likes best."""

    def __call__(self, numel: int, /, *, dtype: torch.dtype) -> Tensor: ...


def copied(vector: Tensor, allocate: Allocate) -> Tensor:
    """Return a copy of a flat vector, in memory of `allocate`."""
    copy = allocate(vector.numel(), dtype=vector.dtype)
    copy.copy_(vector)
    return copy


def flatten(model: nn.Module, parameters: Tensor, gradients: Tensor) -> None:
    """Make the model's parameters and gradients views of two flat vectors, in registration order.

    Both vectors are 1-D, of the model's dtype and at least as long as it has parameters; the
    values of the model's parameters are kept, what follows them is left alone.
    """
    offset = 0
    for parameter in model.parameters():
        end = offset + parameter.numel()
        view = parameters[offset:end].view_as(parameter)
        with torch.no_grad():
            view.copy_(parameter)
        parameter.data = view
        parameter.grad = gradients[offset:end].view_as(parameter)
        offset = end
