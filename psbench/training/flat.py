"""Flat vectors: all parameters, and all gradients, of a model in one piece of memory each."""

import torch
from torch import Tensor, nn


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
