"""The store on one flat vector against torch.optim on a model's own tensors, bit for bit."""

import numpy as np
import pytest
import torch

from psbench.spec import OPTIMIZERS as NAMES
from psbench.spec import Adam, Sgd
from psbench.training import TorchStore
from psbench.training.optimizers import OPTIMIZERS

CHOICES = {
    "sgd": (
        Sgd(kind="sgd", lr=0.1),
        lambda tensors: torch.optim.SGD(tensors, lr=0.1),
    ),
    "momentum": (
        Sgd(kind="sgd", lr=0.05, momentum=0.9),
        lambda tensors: torch.optim.SGD(tensors, lr=0.05, momentum=0.9),
    ),
    "adam": (
        Adam(kind="adam", lr=0.01, betas=(0.8, 0.95), eps=1e-6),
        lambda tensors: torch.optim.Adam(tensors, lr=0.01, betas=(0.8, 0.95), eps=1e-6),
    ),
}


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def test_optimizers_are_those_a_spec_can_name():
    assert tuple(OPTIMIZERS) == NAMES


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("model", ["digits_mlp", "digits_cnn"])
def test_the_same_bits_as_on_separate_tensors(choice, dtype, model, make_task, generator):
    options, build = CHOICES[choice]
    tensors = list(make_task(model).model().to(dtype).parameters())
    optimizer = build(tensors)
    store = TorchStore(flat(tensors), options, carried=0)
    for _ in range(5):
        for tensor in tensors:
            tensor.grad = torch.randn(tensor.shape, dtype=dtype, generator=generator)
        gradient = flat(tensor.grad for tensor in tensors)
        optimizer.step()
        store.apply([gradient])
        assert torch.equal(store.read(), flat(tensors))


@pytest.mark.parametrize("choice", CHOICES)
def test_shards_step_as_the_whole_does(choice, generator):
    options, _ = CHOICES[choice]
    initial = torch.randn(103, generator=generator)
    whole = TorchStore(initial.clone(), options, carried=0)
    shards = [TorchStore(initial[a:b].clone(), options, carried=0) for a, b in CUTS]
    for _ in range(4):
        gradient = torch.randn(103, generator=generator)
        for (a, b), shard in zip(CUTS, shards, strict=True):
            shard.apply([gradient[a:b].clone()])
        whole.apply([gradient])
        assert torch.equal(torch.cat([shard.read() for shard in shards]), whole.read())


CUTS = [(0, 0), (0, 34), (34, 68), (68, 103)]


def test_one_sgd_step_by_hand():
    store = TorchStore(torch.tensor([1.0, 2.0]), Sgd(kind="sgd", lr=0.5), carried=0)
    store.apply([torch.tensor([1.0, 0.0]), torch.tensor([3.0, -4.0])])
    assert store.read().tolist() == [-1.0, 4.0]


def test_one_adam_step_by_hand():
    store = TorchStore(torch.zeros(2), Adam(kind="adam", lr=0.25), carried=0)
    store.apply([torch.tensor([3.0, -1e-3])])
    # both moments are corrected for their start at 0: the first step is lr, against the gradient
    np.testing.assert_allclose(store.read(), [-0.25, 0.25], rtol=1e-4)


def test_contributions_are_summed_in_the_order_given():
    big, one = torch.tensor([1e8]), torch.tensor([1.0])
    for order, total in (([big, one, -big], 0.0), ([big, -big, one], 1.0)):
        store = TorchStore(torch.zeros(1), None, carried=0)
        store.apply([part.clone() for part in order])
        assert store.read().tolist() == [total]


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_carried_is_summed_and_not_trained_on(choice):
    options, _ = CHOICES[choice]
    store = TorchStore(torch.tensor([1.0, 1.0, 7.0]), options, carried=1)
    alone = TorchStore(torch.tensor([1.0, 1.0]), options, carried=0)
    for loss in (0.25, 0.125):
        store.apply([torch.tensor([1.0, 2.0, loss]), torch.tensor([2.0, 1.0, 3 * loss])])
        alone.apply([torch.tensor([3.0, 3.0])])
        assert store.read()[2] == 4 * loss
        assert torch.equal(store.read()[:2], alone.read())


def test_a_shard_of_the_loss_alone():
    store = TorchStore(torch.tensor([0.0]), Adam(kind="adam", lr=0.1), carried=1)
    store.apply([torch.tensor([0.5]), torch.tensor([0.25])])
    assert store.read().tolist() == [0.75]


def test_without_an_optimizer_it_only_sums():
    store = TorchStore(torch.tensor([5.0, 5.0]), None, carried=0)
    store.apply([torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])])
    assert store.read().tolist() == [4.0, 6.0]


def test_parameters_are_updated_in_place():
    parameters = torch.tensor([1.0, 2.0])
    store = TorchStore(parameters, Sgd(kind="sgd", lr=1.0), carried=0)
    store.apply([torch.tensor([1.0, 1.0])])
    assert parameters.tolist() == [0.0, 1.0]
    assert store.read().data_ptr() == parameters.data_ptr()
