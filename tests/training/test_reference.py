"""The single-process run against numpy by hand, and the ranks' sums against it."""

import numpy as np
import pytest
import torch

from psbench.spec import MODELS
from psbench.training import TorchStore, build_learner, reference
from psbench.training.batches import GlobalBatches
from psbench.training.tasks import build_model

SEED = {"seed": 3, "repeat": 1}


def numpy_gradient(parameters, inputs, targets):
    """Return loss and gradients of a perceptron with one hidden layer, by the chain rule."""
    w1, b1, w2, b2 = parameters
    hidden = np.maximum(inputs @ w1.T + b1, 0)
    scores = hidden @ w2.T + b2
    odds = np.exp(scores - scores.max(1, keepdims=True))
    odds /= odds.sum(1, keepdims=True)
    picked = np.arange(len(targets)), targets
    loss = -np.log(odds[picked]).mean()
    odds[picked] -= 1
    d_scores = odds / len(targets)
    d_hidden = (d_scores @ w2) * (hidden > 0)
    return loss, [d_hidden.T @ inputs, d_hidden.sum(0), d_scores.T @ hidden, d_scores.sum(0)]


def test_sgd_with_momentum_on_the_perceptron_in_numpy(make_cell, make_task):
    cell = make_cell(task={"optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9}}, steps=4)
    task = make_task("digits_mlp")
    model = build_model(task, torch.float64, **SEED)
    parameters = [p.detach().numpy().copy() for p in model.parameters()]
    velocity = [np.zeros_like(p) for p in parameters]
    train = task.data()[0]
    batches = GlobalBatches(1437, 17, **SEED)
    count = 0
    for step, ours in enumerate(reference(cell, **SEED)):
        chosen = batches.indices(step)
        inputs, targets = train.inputs[chosen].numpy(), train.targets[chosen].numpy()
        loss, gradients = numpy_gradient(parameters, inputs.reshape(17, 64), targets)
        velocity = [0.9 * v + g for v, g in zip(velocity, gradients, strict=True)]
        parameters = [p - 0.1 * v for p, v in zip(parameters, velocity, strict=True)]
        assert ours.loss == pytest.approx(loss, rel=1e-12)
        for vector, tensors in ((ours.gradient, gradients), (ours.parameters, parameters)):
            expected = np.concatenate([tensor.ravel() for tensor in tensors])
            np.testing.assert_allclose(vector, expected, rtol=1e-10, atol=1e-13)
        count += 1
    assert count == 4


def test_steps_are_copies(make_cell):
    steps = list(reference(make_cell(steps=3), **SEED))
    assert len({step.parameters.data_ptr() for step in steps}) == 3
    assert not torch.equal(steps[0].parameters, steps[1].parameters)
    assert not torch.equal(steps[0].gradient, steps[1].gradient)


@pytest.mark.parametrize("model", MODELS)
def test_losses_fall(make_cell, model):
    optimizer = {"kind": "sgd", "lr": 0.1, "momentum": 0.9}
    cell = make_cell(
        task={"model": model, "dtype": "float32", "optimizer": optimizer},
        batch={"global": 32},
        steps=60,
    )
    losses = [step.loss for step in reference(cell, seed=0, repeat=0)]
    # on the teacher's labels 60 steps are no whole epoch
    assert np.mean(losses[-5:]) < (0.8 if model == "mlp" else 0.5) * losses[0]


@pytest.mark.parametrize(
    "optimizer", [{"kind": "sgd", "lr": 0.1, "momentum": 0.9}, {"kind": "adam", "lr": 0.01}]
)
@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_ranks_that_sum_their_shares_follow_it(make_cell, optimizer, world):
    """What every synchronous strategy comes down to, summed here in rank order by a store."""
    cell = make_cell(task={"optimizer": optimizer}, workers=world, steps=4)
    ranks = [build_learner(cell, **SEED, rank=rank) for rank in range(world)]
    store: TorchStore = ranks[0].store(0, len(ranks[0].parameters))
    for step, expected in enumerate(reference(cell, **SEED)):
        for rank in ranks:
            rank.compute(step, reduce="mean")
        store.apply([rank.gradients for rank in ranks])
        for rank in ranks:
            rank.parameters.copy_(store.read())
            torch.testing.assert_close(
                rank.parameters[:-1], expected.parameters, rtol=1e-9, atol=1e-12
            )
            assert rank.loss() == pytest.approx(expected.loss, rel=1e-12)
