"""Models, data and evaluation."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from psbench.spec import DTYPES as DTYPE_NAMES
from psbench.spec import MODELS
from psbench.spec.task import ITEM_SIZES
from psbench.training import DTYPES, TASKS
from psbench.training.tasks import build_model, evaluate


def values(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def test_the_names_are_those_a_spec_can_use():
    assert tuple(TASKS) == MODELS
    assert tuple(DTYPES) == DTYPE_NAMES
    assert {name: dtype.itemsize for name, dtype in DTYPES.items()} == ITEM_SIZES


@pytest.mark.parametrize(("name", "count"), [("digits_mlp", 9_610), ("digits_cnn", 38_282)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_models(name, count, dtype):
    model = build_model(TASKS[name], dtype, seed=0, repeat=0)
    assert values(model).shape == (count,)
    assert values(model).dtype == dtype
    assert model(torch.zeros(3, 1, 8, 8, dtype=dtype)).shape == (3, 10)
    modules = {type(module).__name__ for module in model.modules()}
    assert not any("Norm" in kind or "Dropout" in kind for kind in modules)


@pytest.mark.parametrize("name", TASKS)
def test_data_are_the_digits_cut_in_two(name):
    train, held_out = TASKS[name].data()
    assert (len(train), len(held_out)) == (1437, 360)
    source = load_digits()
    images = torch.cat([train.inputs, held_out.inputs]).numpy().reshape(1797, 64) * 16
    targets = torch.cat([train.targets, held_out.targets]).numpy()
    ours = sorted(zip(map(tuple, images), targets.tolist(), strict=True))
    assert ours == sorted(zip(map(tuple, source.data), source.target.tolist(), strict=True))
    assert train.inputs.shape[1:] == (1, 8, 8)
    assert held_out.targets.dtype == torch.int64
    assert set(held_out.targets.tolist()) == set(range(10))


def test_data_are_the_same_at_every_call_and_cast_on_request():
    (first, _), (second, _) = TASKS["digits_mlp"].data(), TASKS["digits_cnn"].data()
    assert torch.equal(first.inputs, second.inputs)
    cast = first.to(torch.float32)
    assert cast.inputs.dtype == torch.float32
    assert torch.equal(cast.inputs.double(), first.inputs)  # sixteenths are exact
    assert torch.equal(cast.targets, first.targets)


def test_initial_parameters_are_those_of_seed_and_repeat():
    task = TASKS["digits_mlp"]
    made = {}
    for seed in (0, 1, 2):
        for repeat in (0, 1, 2):
            torch.manual_seed(7 * seed + repeat)  # must not matter
            made[seed, repeat] = values(build_model(task, torch.float64, seed=seed, repeat=repeat))
    assert len({tuple(v.tolist()) for v in made.values()}) == 9
    for (seed, repeat), expected in made.items():
        again = build_model(task, torch.float64, seed=seed, repeat=repeat)
        assert torch.equal(values(again), expected)


def test_dtypes_start_from_the_same_values():
    task = TASKS["digits_cnn"]
    single, double = (build_model(task, d, seed=4, repeat=2) for d in DTYPES.values())
    assert torch.equal(values(single).double(), values(double))


def test_building_a_model_leaves_global_random_states_alone():
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
    build_model(TASKS["digits_cnn"], torch.float32, seed=9, repeat=9)
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)


def test_evaluation_against_numpy():
    task = TASKS["digits_mlp"]
    model = build_model(task, torch.float64, seed=1, repeat=0)
    held_out = task.data()[1].to(torch.float64)
    w1, b1, w2, b2 = (p.detach().numpy() for p in model.parameters())
    scores = np.maximum(held_out.inputs.numpy().reshape(360, 64) @ w1.T + b1, 0) @ w2.T + b2
    targets = held_out.targets.numpy()
    log_sum = np.log(np.exp(scores).sum(1))
    loss, accuracy = evaluate(task, model, held_out)
    assert loss == pytest.approx((log_sum - scores[np.arange(360), targets]).mean(), rel=1e-12)
    assert accuracy == (scores.argmax(1) == targets).mean()
    assert all(p.grad is None for p in model.parameters())
