"""Steps of the store that are not plain: at another rate, corrected, clipped."""

from functools import partial

import numpy as np
import pytest
import torch

from psbench.parameter_server import LEARNING_RATES
from psbench.spec import Adam, Sgd
from psbench.training import TorchStore

SGD = Sgd(kind="sgd", lr=0.1)
MOMENTUM = Sgd(kind="sgd", lr=0.1, momentum=0.9)
ADAM = Adam(kind="adam", lr=0.01)


@pytest.fixture
def draw():
    """`draw(numel)` -> a vector of float64, another at each call."""
    generator = torch.Generator().manual_seed(0)
    return lambda numel=37: torch.randn(numel, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize(
    ("options", "build"),
    [
        (MOMENTUM, lambda p, lr: torch.optim.SGD([p], lr=0.1 * lr, momentum=0.9)),
        (ADAM, lambda p, lr: torch.optim.Adam([p], lr=0.01 * lr)),
    ],
    ids=["momentum", "adam"],
)
def test_a_rate_is_that_of_one_step(options, build, draw):
    """Bit for bit torch's optimiser whose lr is set for the step; what it remembers is the same."""
    parameters = draw()
    store, mine = TorchStore(parameters.clone(), options, carried=0), parameters.clone()
    optimizer = build(mine, 1.0)
    usual = optimizer.param_groups[0]["lr"]
    for rate in (1.0, 0.5, 1.0, 1 / 3, 1.0):
        gradient = draw()
        store.apply([gradient.clone()], rate=rate)
        mine.grad = gradient
        optimizer.param_groups[0]["lr"] = usual * rate
        optimizer.step()
        assert torch.equal(store.read(), mine)
    (group,) = store._optimizer.param_groups
    assert group["lr"] == usual


def test_rates_leave_momentum_as_it_is(draw):
    """By hand: the velocity sums whole gradients, whatever the rates of the steps were."""
    store = TorchStore(torch.zeros(37, dtype=torch.float64), MOMENTUM, carried=0)
    velocity, expected = np.zeros(37), np.zeros(37)
    for rate in (1.0, 0.5, 0.125, 1.0):
        gradient = draw()
        store.apply([gradient.clone()], rate=rate)
        velocity = 0.9 * velocity + gradient.numpy()
        expected = expected - 0.1 * rate * velocity
    np.testing.assert_allclose(store.read(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize("name", LEARNING_RATES)
def test_each_rule_against_numpy(name, staleness, draw):
    """Sgd on a vector whose last element is carried; every gradient is `staleness` versions old."""
    options = {"delay_compensated": {"strength": 0.3}}
    options["delay_compensated_adaptive"] = {"strength": 0.7, "decay": 0.9}
    rule = LEARNING_RATES[name](**options.get(name, {}))
    initial = draw(38)
    store = TorchStore(initial.clone(), SGD, carried=1)
    compensation = rule.compensation()
    versions, mean_square = [initial[:37].numpy().copy()], np.zeros(37)
    for version in range(8):
        late = min(version, staleness)
        now, pulled, g = versions[-1], versions[version - late], draw(38)
        correct = compensation and partial(compensation.corrected, pulled=torch.tensor(pulled))
        store.apply([g.clone()], rate=rule.factor(late, 4), correct=correct)
        loss, g = float(g[-1]), g[:37].numpy()
        lr = 0.1
        if name == "inverse_workers":
            lr = 0.1 / 4
        elif name == "staleness_aware" and late > 0:
            lr = 0.1 / late
        elif name == "delay_compensated":
            g = g + 0.3 * g * g * (now - pulled)
        elif name == "delay_compensated_adaptive":
            mean_square = 0.9 * mean_square + 0.1 * g**2
            g = g + 0.7 / np.sqrt(mean_square + 1e-7) * g**2 * (now - pulled)
        versions.append(now - lr * g)
        np.testing.assert_allclose(store.read()[:-1], versions[-1], rtol=1e-12, atol=1e-14)
        assert float(store.read()[-1]) == loss


@pytest.mark.parametrize("options", [SGD, MOMENTUM, ADAM])
@pytest.mark.parametrize("longest", [0.5, 3.0, 100.0])
def test_clipping_is_torchs_own(longest, options, draw):
    store = TorchStore(draw(38), options, carried=1, clip_norm=longest)
    mine = store.read()[:-1].clone()
    optimizer = TorchStore(mine, options, carried=0)
    for _ in range(4):
        gradient = draw(38)
        parts = [gradient.clone(), 2 * gradient]
        store.apply(parts, 0.5)
        holder = torch.zeros(37, dtype=torch.float64, requires_grad=True)
        holder.grad = 1.5 * gradient[:-1]
        torch.nn.utils.clip_grad_norm_([holder], longest)
        optimizer.apply([holder.grad])
        torch.testing.assert_close(store.read()[:-1], mine, rtol=1e-12, atol=1e-14)
        assert float(store.read()[-1]) == pytest.approx(1.5 * float(gradient[-1]), rel=1e-15)


def test_what_is_clipped_stays_as_it_was(draw):
    """It may lie in a worker's memory."""
    store = TorchStore(draw(), SGD, carried=0, clip_norm=0.1)
    gradient = draw()
    before = gradient.clone()
    store.apply([gradient])
    assert torch.equal(gradient, before)


def test_clipped_first_then_corrected_then_at_its_rate():
    store = TorchStore(torch.zeros(2, dtype=torch.float64), SGD, carried=0, clip_norm=1.0)
    store.apply([torch.tensor([3.0, 4.0]).double()], rate=0.5, correct=lambda g, now: g + 1.0)
    assert store.read().tolist() == pytest.approx([-0.05 * 1.6, -0.05 * 1.8], rel=1e-6)
