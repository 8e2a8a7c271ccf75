"""Speed-up and efficiency against one worker of the same repeat, in frames, table and picture."""

import io
import math

import numpy as np
import pytest
from rich.console import Console

from psbench.analysis import load, notes, print_summary
from psbench.errors import ResultsError

NAN = math.nan


@pytest.fixture
def scaled(write_run, cell, trial_row):
    """Return a function from samples/s by strategy and number of workers, one a repeat, to results;
    a text in the place of a rate is how that trial ended, None that it did not end."""

    def run(rates, **changes):
        cells, rows = [], []
        for (strategy, workers), repeats in rates.items():
            one = cell(strategy, workers, target=None)
            one["fields"] |= changes
            cells.append(one)
            for repeat, rate in enumerate(repeats):
                ended = {"status": rate} if isinstance(rate, str) else {"samples": 10 * (rate or 0)}
                if rate is not None:
                    rows.append(trial_row(one["id"], repeat, seconds=10.0, **ended))
        return load(write_run(cells, rows, repeats=max(len(own) for own in rates.values())))

    return run


def _printed(results):
    file = io.StringIO()
    print_summary(results, Console(file=file, width=200, color_system=None))
    return file.getvalue()


def test_each_repeat_is_held_against_one_worker_in_the_same_repeat(scaled):
    results = scaled({("ring", 1): (100, 200), ("ring", 2): (150, 400), ("ring", 7): (350, 1400)})
    trials = results.trials
    assert trials["speedup"].tolist() == [1.0, 1.0, 1.5, 2.0, 3.5, 7.0]
    assert trials["efficiency"].tolist() == [1.0, 1.0, 0.75, 1.0, 0.5, 1.0]
    summary = results.summary()
    names = ("efficiency", "efficiency_min", "efficiency_max", "speedup", "speedup_max")
    assert [summary[name].iloc[1] for name in names] == [0.875, 0.75, 1.0, 1.75, 2.0]


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_workers_in_proportion_are_all_efficient(scaled, workers):
    results = scaled({("ring", 1): (60,), ("ring", workers): (60 * workers,)})
    assert results.summary()["speedup"].tolist() == [1.0, workers]
    assert results.summary()["efficiency"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("ended", [None, "failed", "diverged", "timed_out", 0])
def test_without_one_worker_that_ended_well_it_is_unknown(scaled, ended):
    results = scaled({("ring", 1): (ended, 100), ("ring", 2): (150, 150)})
    own = results.trials[results.trials["workers"] == 2]
    np.testing.assert_equal(own["efficiency"].tolist(), [NAN, 0.75])
    assert results.summary()["efficiency"].iloc[1] == 0.75


def test_a_trial_that_did_not_end_well_has_none(scaled):
    results = scaled({("ring", 1): (100, 100), ("ring", 2): ("diverged", 150)})
    own = results.trials[results.trials["workers"] == 2]
    np.testing.assert_equal(own["speedup"].tolist(), [NAN, 1.5])


def test_a_strategy_is_held_against_itself_alone(scaled):
    results = scaled({("ring", 1): (100,), ("tree", 2): (150,), ("none", 1): (10,)})
    np.testing.assert_equal(results.summary()["efficiency"].tolist(), [1.0, NAN, 1.0])


def test_what_the_spec_says_is_alike_and_not_what_follows(write_run, cell, trial_row):
    def scattered(workers, per_host):
        one = cell("ps-sync", workers, servers=workers, id=f"{workers}{per_host}" * 32)
        own = {"placement": "colocated", "servers": None}
        one["fields"]["strategy"] = one["fields"]["strategy"] | own
        one["fields"]["cluster"] = {"ranks_per_host": per_host}
        return one

    cells = [scattered(1, 1), scattered(4, 1), scattered(4, 2)]
    rates = (100, 300, 300)
    rows = [trial_row(c["id"], samples=r, seconds=1.0) for c, r in zip(cells, rates, strict=True)]
    summary = load(write_run(cells, rows)).summary()
    assert summary["servers"].tolist() == [1, 4, 4]
    np.testing.assert_equal(summary["efficiency"].tolist(), [1.0, 0.75, NAN])


@pytest.mark.parametrize(
    ("strategy", "cluster", "machines", "hosts"),
    [
        ("ring", None, "aaaa", 1),
        ("ring", None, "aabb", 2),
        ("ps-sync", None, "aabbc", 3),
        ("ring", {"ranks_per_host": None}, "aabb", 2),
        ("ring", {"ranks_per_host": 1}, "aaaa", 4),
        ("ring", {"hosts": 2}, "aaaa", 2),
        ("ps-sync", {"ranks_per_host": 2}, "aaaaa", 3),
        ("colocated", {"hosts": 2}, "aaaaa", 2),
        ("over", {"hosts": 2}, "aaaaa", 2),
        ("ring", None, "", NAN),
    ],
)
def test_hosts_are_paid_for(write_run, cell, trial_row, strategy, cluster, machines, hosts):
    one = cell("ring" if strategy == "ring" else "ps-sync", 4)
    one["fields"]["cluster"] = cluster
    if strategy in ("colocated", "over"):
        server = one["fields"]["strategy"] | {"placement": "colocated"}
        over = {"kind": "easgd", "over": server}
        one["fields"]["strategy"] = server if strategy == "colocated" else over
    row = trial_row(one["id"], samples=120, seconds=1.0, node_hosts=tuple(machines))
    results = load(write_run([one], [row]))
    np.testing.assert_equal(results.trials["samples_per_s_per_host"].tolist(), [120 / hosts])
    np.testing.assert_equal(results.summary()["samples_per_s_per_host"].tolist(), [120 / hosts])


def test_the_table_shows_efficiency_where_several_workers_have_one(scaled):
    known = scaled({("ring", 1): (100,), ("ring", 4): (100,), ("tree", 4): (100,)})
    rows = [line.split() for line in _printed(known).splitlines() if line[:4] in ("ring", "tree")]
    assert [row[:4] for row in rows] == [
        ["ring", "1", "100", "1.00"], ["ring", "4", "100", "0.25"], ["tree", "4", "100", "-"],
    ]  # fmt: skip
    alone = scaled({("ring", 1): (100,), ("tree", 4): (100,)})
    assert "efficiency" not in _printed(alone)


@pytest.mark.parametrize(
    ("batch", "kind"),
    [
        ({"per_worker": 32, "global": None}, "efficiency, weak scaling"),
        ({"per_worker": None, "global": 128}, "efficiency, strong scaling"),
        (None, "efficiency"),
    ],
)
def test_the_picture_and_the_notes_say_which_scaling_it_is(scaled, batch, kind):
    rates = {("ring", 1): (100, 120), ("ring", 2): (150, 240), ("ring", 4): (300, 360)}
    results = scaled(rates, batch=batch)
    speed, efficiency = results.plot_axis("workers").axes
    assert speed.get_ylabel().startswith("samples/s")
    assert efficiency.get_ylabel() == kind
    np.testing.assert_allclose(efficiency.lines[0].get_ydata(), [1.0, 0.875, 0.75])
    assert efficiency.lines[-1].get_ydata() == [1.0, 1.0]
    assert efficiency.get_ylim() == (0.0, 1.05)
    assert any(note.startswith(f"{kind}: ") for note in notes(results))


def test_more_than_proportion_is_within_the_picture(scaled):
    results = scaled({("none", 1): (100, 100), ("none", 2): (150, 260)})
    assert results.plot_axis("workers").axes[1].get_ylim()[1] == pytest.approx(1.05 * 1.3)


def test_without_one_worker_there_is_no_panel(scaled):
    results = scaled({("ring", 2): (100,), ("ring", 4): (150,)})
    assert len(results.plot_axis("workers").axes) == 1
    with pytest.raises(ResultsError, match="has no efficiency to draw"):
        results.plot_axis("workers", "efficiency")


def test_a_run_without_a_trial_has_the_columns_all_the_same(write_run, cell):
    results = load(write_run([cell("ring", 1), cell("ring", 2)]))
    assert {"speedup", "efficiency"} <= set(results.trials.columns)
    assert results.summary()["efficiency"].isna().all()
