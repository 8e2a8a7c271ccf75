"""What a spec says of computing: padding, slow ranks, micro-batches, summing, learning rates."""

import pytest
import torch

from psbench.network import ComputeTime, Slowness
from psbench.spec import Spec
from psbench.training import reference

OPTIMIZER = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}


def make_cell(strategy, workers, *, lr=0.05, steps=20, **fields):
    optimizer = OPTIMIZER | {"lr": lr}
    (cell,) = Spec(
        name="computing",
        task={"model": "digits_mlp", "dtype": "float64", "optimizer": optimizer},
        steps=steps,
        strategy=strategy,
        workers=workers,
        **({"batch": {"global": 30}} | fields),
    ).cells()
    return cell


def distance_to_reference(outcome, cell):
    """||a - b|| / ||b|| of rank 0's parameters and those of a single process that runs `cell`."""
    expected = list(reference(cell, seed=0, repeat=0))[-1].parameters
    difference = torch.linalg.norm(outcome.parameters(0) - expected)
    return float(difference / torch.linalg.norm(expected))


@pytest.mark.parametrize("strategy", ["ring", "ps-sync", "native"])
def test_micro_batches_change_nothing_but_memory(strategy, run_trial):
    outcome = run_trial(make_cell(strategy, 3, accumulate=4))
    assert distance_to_reference(outcome, make_cell(strategy, 3)) <= 1e-10
    assert {row.samples for row in outcome.rows} == {10}
    assert {report.samples for report in outcome.reports[-1:]} <= {200, 600}


@pytest.mark.parametrize("strategy", ["ring", "tree", "ps-sync", "native"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_to_sum_is_to_multiply_the_learning_rate(strategy, workers, run_trial):
    outcome = run_trial(make_cell(strategy, workers, reduce="sum"))
    assert distance_to_reference(outcome, make_cell(strategy, workers, lr=0.05 * workers)) <= 1e-10
    losses = [
        step.loss for step in reference(make_cell("ring", 1, lr=0.05 * workers), seed=0, repeat=0)
    ]
    for (_, step), loss in outcome.losses().items():
        assert loss == pytest.approx(losses[step], rel=1e-9)  # the mean, whatever is summed


@pytest.mark.parametrize(
    ("strategy", "scaling", "factor"),
    [("ring", "linear", 3.0), ("ps-sync", "sqrt", 3**0.5), ("native", "none", 1.0)],
)
def test_a_scaled_learning_rate(strategy, scaling, factor, run_trial):
    batch = {"per_worker": 10}
    outcome = run_trial(make_cell(strategy, 3, lr_scaling=scaling, batch=batch))
    expected = make_cell("ring", 1, lr=0.05 * factor)
    assert distance_to_reference(outcome, expected) <= 1e-10


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_step_computes_for_as_long_as_the_spec_says(accumulate, run_trial):
    slow = [{"rank": 1, "factor": 3, "probability": 0.5}]
    compute = {"seconds": "5 ms", "jitter": 0.2, "slow": slow}
    cell = make_cell("ps-async", 2, compute=compute, accumulate=accumulate)
    outcome = run_trial(cell, seed=3, repeat=1)
    asked = ComputeTime(
        seconds=0.005,
        jitter=0.2,
        slow=(Slowness(rank=1, factor=3.0, probability=0.5),),
        seed=3,
        repeat=1,
    )
    assert {row.rank for row in outcome.rows} == {0, 1}
    for row in outcome.rows:
        assert row.compute_s >= asked.draw(row.rank, row.step) * (1 - 1e-9)


def test_a_payload_can_be_padded_too(run_trial):
    (cell,) = Spec(
        name="computing",
        task={"payload": "4 kB"},
        steps=3,
        workers=2,
        strategy="ring",
        compute={"seconds": "5 ms"},
    ).cells()
    assert min(row.compute_s for row in run_trial(cell).rows) >= 0.005
