"""The experiment with learning-rate rules: its specs, its choice of rates, and its page."""

import importlib
import itertools
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from psbench import Spec

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "lr_rules"
TRIALS = ROOT / "results" / "lr_rules.csv"
RULES = [
    "none",
    "inverse_workers",
    "staleness_aware",
    "delay_compensated",
    "delay_compensated_adaptive",
]
GAINS = {4: [-0.5, 0.1, 0.0, -0.1, -0.5], 8: [0.02, 0.0, -0.02, -0.1, 0.0]}
"""Over sync, of RULES, with as many workers."""


@pytest.fixture
def choose(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    before = set(sys.modules)
    yield importlib.import_module("choose")
    for name in {"choose", "figures"} - before:
        del sys.modules[name]


def rule(cell):
    asked = cell.strategy
    return "sync" if asked.consistency == "synchronous" else asked.lr_rule.kind


def apart_from_tuning(cell):
    """Return all of a cell that is the same in the sweep and in the end."""
    fields = cell.model_dump()
    del fields["task"]["optimizer"]["lr"]
    return str(fields)


@pytest.mark.parametrize("task", ["digits_cnn", "byte_lm"])
def test_rules_are_tuned_with_equal_effort_and_compared_at_other_seeds(task):
    sweep = Spec.load(FOLDER / f"sweep_{task}.yaml")
    tried = {}
    for cell in sweep.cells():
        tried.setdefault((cell.workers, rule(cell)), []).append(cell.task.optimizer.lr)
    rates = tried[1, "sync"]
    assert all(b == 2 * a for a, b in itertools.pairwise(rates))
    assert tried == {
        (workers, name): rates
        for workers in (1, 2, 4, 8)
        for name in ["sync", *(RULES if workers > 1 else RULES[:1])]
    }

    final = Spec.load(FOLDER / f"final_{task}.yaml")
    assert (final.repeats, final.seed == sweep.seed) == (5, False)
    chosen = {}
    for cell in final.cells():
        chosen.setdefault((cell.workers, rule(cell)), []).append(cell.task.optimizer.lr)
    assert chosen.keys() == tried.keys()
    for (workers, _), own in chosen.items():
        assert own[0] == chosen[workers, "sync"][0], "first at the rate that is best for sync"
        assert set(own) <= set(rates[1:-1])
    kinds = [{apart_from_tuning(cell) for cell in spec.cells()} for spec in (sweep, final)]
    assert kinds[0] == kinds[1]


def test_the_rate_is_that_of_the_best_mean_and_the_least_of_equals(choose):
    rows = [(0.1, 0.5, 0.5), (0.2, 0.9, 0.8), (0.4, 0.7, 1.0), (0.8, 0.1, 1.0)]
    trials = pd.DataFrame(
        [("digits_cnn", 2, "sync", lr, figure) for lr, *figures in rows for figure in figures],
        columns=["task", "workers", "rule", "lr", "figure"],
    )
    assert choose.best_rates(trials) == {(2, "sync"): 0.2}
    nats = trials.assign(task="byte_lm", figure=5 - trials["figure"])
    assert choose.best_rates(nats) == {(2, "sync"): 0.2}
    with pytest.raises(SystemExit, match=r"edge of the grid, so let it grow: sync with 2: 0\.2$"):
        choose.best_rates(trials[trials["lr"] >= 0.2])
    assert choose.entries({(2, "sync"): 0.2, (2, "none"): 0.1, (2, "staleness_aware"): 0.2}) == [
        {"workers": 2, "strategy": "ps-sync", "task.optimizer.lr": 0.2},
        {"workers": 2, "strategy.lr_rule": "none", "task.optimizer.lr": 0.2},
        {"workers": 2, "strategy.lr_rule": "none", "task.optimizer.lr": 0.1},
        {"workers": 2, "strategy.lr_rule": "staleness_aware", "task.optimizer.lr": 0.2},
    ]


def written_page(folder, csv):
    """Return the page that page.py writes of `csv`, in a copy of the experiment in `folder`."""
    copy = folder / "experiments" / "lr_rules"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("README.md", "__pycache__"))
    (folder / "results").mkdir()
    (folder / "results" / "lr_rules.csv").write_text(csv)
    done = subprocess.run(
        [sys.executable, copy / "page.py"], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "results" / "lr_rules.png").stat().st_size > 10_000
    return (copy / "README.md").read_text()


def test_the_page_is_that_of_the_trials_that_are_kept(tmp_path):
    assert written_page(tmp_path, TRIALS.read_text()) == (FOLDER / "README.md").read_text()


def test_the_page_says_what_restored_what(tmp_path):
    scatter = [-0.02, -0.01, 0.0, 0.01, 0.02]
    rows = []
    for workers, gains in GAINS.items():
        for name, gain in [("sync", 0.0), *zip(RULES, gains, strict=True)]:
            for repeat, own in enumerate(scatter):
                figure = 0.7 + 0.025 * repeat + gain + (own if gain else 0.0)
                for task, shown in [("digits_cnn", figure), ("byte_lm", 3 - figure)]:
                    rows.append((task, workers, name, 0.1, "both", repeat, "ok", shown, 3.0, 2))
    columns = TRIALS.read_text().partition("\n")[0].split(",")
    page = written_page(tmp_path, pd.DataFrame(rows, columns=columns).to_csv(index=False))

    half = 2.776445 * math.sqrt(0.00025) / math.sqrt(5)  # Student's t with 4 degrees of freedom
    assert f"| 4 | `none` | 0.1 | 0.250 ± 0.069 | -0.500 ± {half:.3f} | 3.0 |" in page
    assert (
        "- `digits_cnn`, at the rate that is best for sync\n"
        "  - 4 workers: `none` lost; restored by `inverse_workers`, `staleness_aware`;"
        " in part by `delay_compensated`; worse with `delay_compensated_adaptive`\n"
        "  - 8 workers: `none` lost nothing; as sync too `inverse_workers`,"
        " `delay_compensated_adaptive`; unclear for `staleness_aware`;"
        " worse with `delay_compensated`\n"
    ) in page
    told = "worse | **restored** + | **restored** | in part | worse |"
    assert f"| `digits_cnn` | sync | 4 | {told}" in page
    told = "as sync + | as sync | as sync | worse | as sync |"  # the margin is 0.05 nats
    assert f"| `byte_lm` | each rule | 8 | {told}" in page
