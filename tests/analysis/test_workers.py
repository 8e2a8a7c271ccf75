"""Workers one by one: rates, steps, staleness and dropped pushes of each rank."""

import math

import numpy as np
import pytest

from psbench.analysis import load

NAN = math.nan


@pytest.fixture
def uneven(write_run, cell, step_row, trial_row):
    """Return an asynchronous trial whose rank 1 takes 40 s a step where rank 0 takes 10, and whose
    pushes are dropped now and then; one without servers; and one that failed in its warm-up."""
    ps, none, failed = cell("ps-async", 2), cell("none", 1), cell("ring", 2)
    moments = {0: (10.0, 1), 1: (40.0, 5)}
    steps = {
        (ps["id"], 0): [
            step_row(
                rank, step, end_s=100.0 * step + length, staleness=stale + step % 2,
                dropped=2 if (rank, step) in ((1, 0), (1, 2)) else 0,
            )
            for rank, (length, stale) in moments.items()
            for step in range(5)
        ],
        (none["id"], 0): [step_row(0, step, samples=0) for step in range(3)],
        (failed["id"], 0): [step_row(rank, 0) for rank in range(2)],
    }  # fmt: skip
    rows = [trial_row(one["id"]) for one in (ps, none)]
    rows.append(trial_row(failed["id"], status="failed", error="rank 1 died"))
    return load(write_run([ps, none, failed], rows, steps=steps))


def test_each_rank_of_each_trial_has_a_row(uneven):
    workers = uneven.workers()
    assert list(zip(workers["strategy"], workers["rank"], workers["status"], strict=True)) == [
        ("ps-async", 0, "ok"), ("ps-async", 1, "ok"), ("none", 0, "ok"),
        ("ring", 0, "failed"), ("ring", 1, "failed"),
    ]  # fmt: skip
    assert workers["transport"].tolist() == ["gloo"] * 5
    assert workers["workers"].tolist() == [2, 2, 1, 2, 2]
    assert workers.columns.is_unique


def test_what_a_rank_did_by_hand(uneven):
    workers = uneven.workers()
    # 4 timed steps of 8 samples, of 10 s or 40 s each; a payload has no samples
    np.testing.assert_equal(workers["samples_per_s"].tolist(), [0.8, 0.2, NAN, NAN, NAN])
    np.testing.assert_equal(workers["step_s"].tolist(), [10.0, 40.0, 10.0, NAN, NAN])
    # steps 1 to 4 of rank 0; 1, 3 and 4 of rank 1, whose second was dropped
    expected = [1.5, (6 + 6 + 5) / 3, NAN, NAN, NAN]
    np.testing.assert_allclose(workers["staleness_mean"].tolist(), expected)
    assert workers["pushes_dropped"].tolist() == [0, 4, 0, 0, 0]


def test_the_slowest_and_the_fastest_worker_stand_beside_the_trial(uneven):
    for frame in (uneven.trials, uneven.summary()):
        np.testing.assert_equal(frame["slowest_worker_samples_per_s"].tolist(), [0.2, NAN, NAN])
        np.testing.assert_equal(frame["fastest_worker_samples_per_s"].tolist(), [0.8, NAN, NAN])


def test_what_lies_between_steps_does_not_slow_a_worker(write_run, cell, step_row, trial_row):
    ring = cell("ring", 1)
    rows = [step_row(0, step) for step in (1, 5, 9)]  # 10 s each, 390 s apart
    results = load(write_run([ring], [trial_row(ring["id"])], steps={(ring["id"], 0): rows}))
    assert results.workers()["samples_per_s"].tolist() == [0.8]


def test_axes_tell_workers_apart_and_repeats_are_rows(write_run, cell, step_row, trial_row):
    lr = "task.optimizer.lr"
    cells = [cell("ring", 3, lr=own) for own in (0.1, 0.2)]
    keys = [(one["id"], repeat) for one in cells for repeat in range(2)]
    rows = [trial_row(*key) for key in keys]
    steps = {key: [step_row(rank) for rank in range(3)] for key in keys}
    workers = load(write_run(cells, rows, steps=steps, axes=(lr,), repeats=2)).workers()
    assert workers[lr].tolist() == [0.1] * 6 + [0.2] * 6
    assert workers["repeat"].tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert workers["rank"].tolist() == [0, 1, 2] * 4


def test_a_run_without_a_step_has_no_workers(write_run, cell, trial_row):
    bare = cell("bare", 1)
    assert len(load(write_run([bare], [trial_row(bare["id"])])).workers()) == 0
    assert len(load(write_run([bare])).workers()) == 0
