"""Flat vectors are the model's own memory, in both directions."""

import pytest
import torch
from torch import nn

from psbench.training.flat import flatten


@pytest.fixture
def model():
    """A model with a scalar, a matrix and a bias, 1 + 6 + 2 parameters."""
    linear = nn.Linear(3, 2)
    linear.register_parameter("scale", nn.Parameter(torch.tensor(1.5)))
    return nn.Sequential(linear)


@pytest.fixture
def vectors():
    """Parameters and gradients, two elements longer than the model."""
    return torch.full((11,), 7.0), torch.full((11,), 0.0)


def test_values_are_kept_in_registration_order_and_the_rest_is_left_alone(model, vectors):
    own = [parameter.detach().clone() for parameter in model.parameters()]
    flatten(model, *vectors)
    expected = torch.cat([tensor.reshape(-1) for tensor in own] + [torch.full((2,), 7.0)])
    assert torch.equal(vectors[0], expected)
    for parameter, before in zip(model.parameters(), own, strict=True):
        assert parameter.shape == before.shape
        assert torch.equal(parameter, before)


def test_writes_go_through_both_ways(model, vectors):
    parameters, gradients = vectors
    flatten(model, parameters, gradients)
    parameters.copy_(torch.arange(11.0))
    gradients.copy_(torch.arange(11.0) + 100)
    first = next(model.parameters())
    assert torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist() == list(
        range(9)
    )
    assert [g for p in model.parameters() for g in p.grad.reshape(-1).tolist()] == list(
        range(100, 109)
    )
    with torch.no_grad():
        first.fill_(-1.0)
    first.grad.fill_(-2.0)
    size = first.numel()
    assert parameters[:size].tolist() == [-1.0] * size
    assert gradients[:size].tolist() == [-2.0] * size


def test_backward_accumulates_in_the_flat_gradients(model, vectors):
    parameters, gradients = vectors
    flatten(model, parameters, gradients)
    pointers = [p.grad.data_ptr() for p in model.parameters()]
    for repeat in (1, 2):
        (model(torch.tensor([[1.0, 2.0, 3.0]])).sum() + 5 * model[0].scale).backward()
        assert [p.grad.data_ptr() for p in model.parameters()] == pointers
        by_name = {name: p.grad for name, p in model[0].named_parameters()}
        assert by_name["weight"].tolist() == [[repeat, 2.0 * repeat, 3.0 * repeat]] * 2
        assert by_name["bias"].tolist() == [repeat] * 2
        assert by_name["scale"].item() == 5 * repeat
    assert gradients[9:].tolist() == [0.0, 0.0]
    assert sorted(gradients[:9].tolist()) == sorted([10.0, 2, 4, 6, 2, 4, 6, 2, 2])
