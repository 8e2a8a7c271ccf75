"""Ratios pair each cell with the cell of the baseline that is like it in all else."""

import math

import pytest

from psbench.analysis import load
from psbench.errors import ResultsError

LR = "task.optimizer.lr"


def _run(write_run, cells, trials, repeats=3):
    return load(write_run(cells, trials, repeats=repeats, axes=("strategy", "workers", LR)))


def test_repeats_are_paired(write_run, cell, trial_row):
    ring, none = cell("ring", 2), cell("none", 2)
    # 48 samples: the ratios of rates are 6/4, 8/4 and 9/3 of seconds turned over.
    seconds = {ring["id"]: (4.0, 4.0, 3.0), none["id"]: (6.0, 8.0, 9.0)}
    rows = [
        trial_row(cell_id, repeat, seconds=own[repeat])
        for repeat in (2, 0, 1)
        for cell_id, own in seconds.items()
    ]
    (row,) = _run(write_run, [ring, none], rows).ratios("none").to_dict("records")
    assert (row["strategy"], row["workers"], row[LR]) == ("ring", 2, 0.1)
    assert row["num_pairs"] == 3
    assert row["ratio"] == pytest.approx((1.5 * 2.0 * 3.0) ** (1 / 3))
    assert row["low"] < 1.5 < row["ratio"] < 3.0 < row["high"]


def test_each_cell_has_its_own_baseline(write_run, cell, trial_row):
    cells = [cell(name, workers, lr=lr) for name in ("none", "ring") for workers in (2, 4)
             for lr in (0.1, 0.2)]  # fmt: skip
    rows = [
        trial_row(one["id"], seconds=(10.0 if one["strategy"] == "none" else 1.0) + place % 4)
        for place, one in enumerate(cells)
    ]
    ratios = _run(write_run, cells, rows, repeats=1).ratios("none")
    assert list(zip(ratios["workers"], ratios[LR], strict=True)) == [
        (2, 0.1), (2, 0.2), (4, 0.1), (4, 0.2),
    ]  # fmt: skip
    assert ratios["ratio"].tolist() == pytest.approx([10 / 1, 11 / 2, 12 / 3, 13 / 4])
    assert ratios["low"].isna().all()


def test_only_pairs_of_two_good_trials_count(write_run, cell, trial_row):
    ring, none = cell("ring", 2), cell("none", 2)
    statuses = {ring["id"]: ("ok", "failed", "ok", "ok"), none["id"]: ("ok", "ok", "diverged")}
    rows = [
        trial_row(cell_id, repeat, status=status, seconds=2.0 if cell_id == ring["id"] else 3.0)
        for cell_id, own in statuses.items()
        for repeat, status in enumerate(own)
    ]
    (row,) = _run(write_run, [ring, none], rows, repeats=4).ratios("none").to_dict("records")
    assert (row["ratio"], row["num_pairs"]) == (pytest.approx(1.5), 1)


def test_a_cell_without_its_like_has_no_ratio(write_run, cell, trial_row):
    cells = [cell("ring", 4), cell("none", 2)]
    rows = [trial_row(one["id"]) for one in cells]
    (row,) = _run(write_run, cells, rows, repeats=1).ratios("none").to_dict("records")
    assert row["num_pairs"] == 0
    assert math.isnan(row["ratio"])


def test_any_measure_of_a_trial_serves(write_run, cell, trial_row, step_row):
    ring, none = cell("ring", 2), cell("none", 2)
    rows = [trial_row(one["id"]) for one in (ring, none)]
    steps = {
        (ring["id"], 0): [step_row(0), step_row(1)],
        (none["id"], 0): [step_row(0, end_s=105.0), step_row(1, end_s=105.0)],
    }
    results = load(write_run([ring, none], rows, steps=steps))
    assert results.ratios("none", "step_s")["ratio"].tolist() == pytest.approx([2.0])


def test_what_is_unknown_is_told_with_what_is_known(write_run, cell):
    results = load(write_run([cell("ring", 2), cell("none", 2)]))
    with pytest.raises(ResultsError, match=r"no strategy 'bare' .* are ring, none"):
        results.ratios("bare")
    with pytest.raises(ResultsError, match=r"no measure 'speed' in these .* efficiency, step_s"):
        results.ratios("none", "speed")
    assert results.ratios("none")["num_pairs"].tolist() == [0]
