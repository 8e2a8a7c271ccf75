"""Synchronous strategies against the single-process run: real loops over a real transport.

float64: the parameters after 30 steps. float32: the gradient of each step, at the very parameters
it was computed from, within the error that summing may make. And planted bugs, which must show.
"""

import dataclasses

import numpy as np
import pytest
import torch

from psbench.live.server import Server
from psbench.live.worker import Worker
from psbench.schedules import ALGORITHMS, LazyRounds
from psbench.spec import Spec
from psbench.training import build_learner, reference

STRATEGIES = ["ring", "tree", "ps-sync", "native"]
WORLDS = [1, 2, 3, 5]
STEPS = 30


def make_cell(
    strategy, workers, dtype, *, steps=STEPS, batch=32, lr=0.1, momentum=0.9, transport="auto"
):
    """A small model; 32 samples do not divide by 3 or 5."""
    spec = Spec(
        name="parity",
        task={
            "model": "digits_mlp",
            "dtype": dtype,
            "optimizer": {"kind": "sgd", "lr": lr, "momentum": momentum},
        },
        batch={"global": batch},
        steps=steps,
        strategy=strategy,
        workers=workers,
        transport=transport,
    )
    return spec.cells()[0]


def distance(parameters, expected):
    """||a - b|| / ||b||"""
    return float(torch.linalg.norm(parameters - expected) / torch.linalg.norm(expected))


def last_of(cell, **seeds):
    return list(reference(cell, **seeds))[-1].parameters


@pytest.mark.parametrize("workers", WORLDS)
@pytest.mark.parametrize(
    ("strategy", "transport", "apart"),
    [(strategy, "gloo", False) for strategy in STRATEGIES]
    + [(strategy, "shared_memory", False) for strategy in STRATEGIES if strategy != "native"]
    + [(strategy, "auto", True) for strategy in STRATEGIES],
)
def test_float64_equals_the_single_process_run(strategy, transport, apart, workers, run_trial):
    cell = make_cell(strategy, workers, "float64", transport=transport)
    outcome = run_trial(cell, apart=apart)
    expected = last_of(cell, seed=0, repeat=0)
    for rank in range(workers):
        assert distance(outcome.parameters(rank), expected) <= 1e-10
        assert torch.equal(outcome.parameters(rank), outcome.parameters(0))
    reference_losses = [step.loss for step in reference(cell, seed=0, repeat=0)]
    for (_, step), loss in outcome.losses().items():
        assert loss == pytest.approx(reference_losses[step], rel=1e-10)


@pytest.mark.parametrize("optimizer", [{"kind": "adam", "lr": 0.01}])
@pytest.mark.parametrize("strategy", ["ring", "ps-sync"])
def test_float64_with_adam_and_convolutions(strategy, optimizer, run_trial):
    spec = Spec(
        name="parity",
        task={"model": "digits_cnn", "dtype": "float64", "optimizer": optimizer},
        batch={"global": 32},
        steps=10,
        strategy=strategy,
        workers=3,
    )
    cell = spec.cells()[0]
    expected = last_of(cell, seed=0, repeat=0)
    assert distance(run_trial(cell).parameters(0), expected) <= 1e-10


def record_sums(nodes):
    """Have each node note the summed gradients it steps with, and the parameters before."""
    noted = {}

    def spy(node, store, parameters):
        apply, history = store.apply, noted.setdefault(node, [])

        def applied(contributions, scale=1.0, **step):
            assert scale == 1.0
            contributions = list(contributions)
            total = contributions[0]
            before = parameters().clone()
            for other in contributions[1:]:
                total.add_(other)
            history.append((before, total.clone()))
            apply([total], scale, **step)

        store.apply = applied

    for node in nodes:
        if isinstance(node, Server):
            spy(node, node._last._store, lambda node=node: node.parameters)
        else:
            spy(node, node.learner._store, lambda node=node: node.learner.parameters)
    return noted


def slice_gradients(cell, step, parameters):
    """Each rank's share of the gradient at `parameters`, computed here, one after the other."""
    gradients = []
    for rank in range(cell.workers):
        learner = build_learner(cell, seed=0, repeat=0, rank=rank)
        learner.parameters.copy_(parameters)
        learner.compute(step, reduce="mean")
        gradients.append(learner.gradients.double())
    return gradients


@pytest.mark.parametrize("workers", WORLDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_float32_gradient_of_each_step_is_within_the_error_of_summing(strategy, workers, run_trial):
    """p numbers added one by one, in any association: |error| <= (p - 1) u / (1 - (p - 1) u) sum|x|
    with unit roundoff u = 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, 4.2)."""
    cell = make_cell(strategy, workers, "float32", steps=10)
    noted = {}
    run_trial(cell, prepare=lambda nodes: noted.update(record_sums(nodes)))
    histories = [history for history in noted.values() if history]
    assert histories
    roundoff = (workers - 1) * 2.0**-24
    bound = roundoff / (1 - roundoff)
    for history in histories:
        assert len(history) == cell.steps
        for step, (parameters, total) in enumerate(history):
            shares = slice_gradients(cell, step, parameters)
            exact = torch.stack(shares).sum(0)
            allowed = bound * torch.stack(shares).abs().sum(0)
            assert bool(((total.double() - exact).abs() <= allowed).all())


# planted bugs: each must make the float64 comparison fail


def sum_for_mean(nodes):
    for node in nodes:
        if isinstance(node, Worker):
            node.learner._share = 1.0


def one_slice_twice(nodes):
    nodes[1].learner._slice = nodes[0].learner._slice


def wrong_batch(nodes):
    indices = nodes[1].learner._batches.indices
    nodes[1].learner._batches.indices = lambda step: indices(step + 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("bug", [sum_for_mean, one_slice_twice, wrong_batch])
def test_a_planted_bug_shows(bug, strategy, run_trial):
    cell = make_cell(strategy, 3, "float64", steps=5)
    outcome = run_trial(cell, prepare=bug)
    assert distance(outcome.parameters(0), last_of(cell, seed=0, repeat=0)) > 1e-6


@pytest.mark.parametrize("algorithm", ["ring", "tree"])
def test_a_lost_chunk_shows(algorithm, run_trial, monkeypatch):
    def lossy(world, num_chunks=None):
        schedule = build(world, num_chunks)

        def rounds():
            for number, round_ in enumerate(schedule.rounds):
                keep = np.ones(len(round_), bool)
                keep[0] = number != 0  # the very first transfer never happens
                yield dataclasses.replace(
                    round_,
                    **{
                        field.name: getattr(round_, field.name)[keep]
                        for field in dataclasses.fields(round_)
                    },
                )

        return dataclasses.replace(schedule, rounds=LazyRounds(generate=rounds))

    build = ALGORITHMS[algorithm]
    monkeypatch.setitem(ALGORITHMS, algorithm, lossy)
    cell = make_cell(algorithm, 3, "float64", steps=5)
    outcome = run_trial(cell)
    expected = last_of(cell, seed=0, repeat=0)
    assert max(distance(outcome.parameters(rank), expected) for rank in range(3)) > 1e-6


@pytest.mark.parametrize("strategy", ["ring", "tree", "ps-sync", "none"])
def test_same_seed_same_losses_bit_for_bit(strategy, run_trial):
    cell = make_cell(strategy, 3, "float32", steps=10)
    first, again = run_trial(cell).losses(), run_trial(cell).losses()
    assert first == again
    assert len(first) == 30
    other_seed, other_repeat = run_trial(cell, seed=1).losses(), run_trial(cell, repeat=1).losses()
    assert other_seed != first
    assert other_repeat != first


@pytest.mark.parametrize("strategy", ["ring", "tree", "ps-sync", "native"])
def test_all_ranks_see_one_loss(strategy, run_trial):
    losses = run_trial(make_cell(strategy, 3, "float32", steps=10)).losses()
    for step in range(10):
        assert len({losses[rank, step] for rank in range(3)}) == 1


def test_without_synchronisation_each_rank_is_a_run_of_its_own(run_trial):
    cell = make_cell("none", 2, "float64", steps=10)
    outcome = run_trial(cell)
    for rank in range(2):
        learner = build_learner(cell, seed=0, repeat=0, rank=rank)
        for step in range(10):
            learner.compute(step, reduce=None)
            learner.apply()
        assert torch.equal(outcome.parameters(rank), learner.parameters[:-1])
