"""Frames and the summary of runs written by the real writer."""

import json
import math
import subprocess
import sys

import pytest

from psbench.analysis import Results, load, summary_records
from psbench.analysis.frames import MEASURES
from psbench.errors import ResultsError
from psbench.results import EventRow, StepStream


def _row(summary, position=0):
    return summary.iloc[position].to_dict()


def test_the_summary_of_one_cell_by_hand(write_run, cell, step_row, trial_row, eval_row):
    ring = cell("ring", 2)
    steps = {}
    rows = []
    for repeat, length in enumerate((10.0, 12.0, 20.0)):
        steps[ring["id"], repeat] = [
            step_row(
                rank, step, enter_s=100.0 * step + 4 + rank, exit_s=100.0 * step + 8,
                end_s=100.0 * step + (1000 if step == 0 else length),
            )
            for step in range(4)
            for rank in range(2)
        ]  # fmt: skip
        accuracies = {0: (0.5, 0.92), 1: (0.91, 0.93), 2: (0.3, 0.4)}[repeat]
        rows += [
            eval_row(ring["id"], repeat, step, accuracy=accuracy)
            for step, accuracy in zip((2, 4), accuracies, strict=True)
        ]
        rows.append(trial_row(ring["id"], repeat, seconds=length, bytes_sent=(400, 4000)))
    results = load(write_run([ring], rows, steps=steps, repeats=3))
    row = _row(results.summary())

    assert row["samples_per_s"] == 48 / 12
    assert (row["samples_per_s_min"], row["samples_per_s_max"]) == (48 / 20, 48 / 10)
    assert (row["step_s"], row["step_s_min"], row["step_s_max"]) == (12.0, 10.0, 20.0)
    assert row["step_p95_s"] == 12.0
    # A mean step of 14 s: compute 4, wait 1 or 0, communication 3, update 1; the warm-up left out.
    assert row["compute_share"] == pytest.approx(4 / 14)
    assert row["wait_share"] == pytest.approx(0.5 / 14)
    assert row["comm_share"] == pytest.approx(3 / 14)
    assert row["update_share"] == pytest.approx(1 / 14)
    assert row["other_share"] == pytest.approx(5.5 / 14)
    assert row["busiest_bytes_per_step"] == 1000
    assert math.isnan(row["staleness_mean"])
    assert (row["final_accuracy"], row["final_accuracy_min"], row["final_accuracy_max"]) == (
        0.92,
        0.4,
        0.93,
    )
    # The repeats reach the target at 8 s, at 4 s, and not within 8 s.
    assert row["time_to_target_s"] == 8.0
    assert row["steps_to_target"] == 4
    assert row["samples_to_target"] == 64
    assert (row["time_to_target_s_min"], row["time_to_target_s_max"]) == (4.0, math.inf)
    assert row["num_censored"] == 1
    assert (row["num_ok"], row["num_trials"], row["num_unfinished"]) == (3, 3, 0)


def test_a_median_that_never_reached_the_target_lies_beyond_the_time_trained(
    write_run, cell, trial_row, eval_row
):
    ring = cell("ring", 2)
    rows = []
    for repeat, (accuracy, seconds) in enumerate(((0.95, 3.0), (0.2, 7.0), (0.2, 8.0))):
        rows.append(eval_row(ring["id"], repeat, 4, accuracy=accuracy, seconds=seconds))
        rows.append(trial_row(ring["id"], repeat))
    row = _row(load(write_run([ring], rows, repeats=3)).summary())
    assert row["time_to_target_s"] == math.inf
    assert row["time_to_target_s_bound"] == 7.0
    assert row["num_censored"] == 2


def test_the_server_and_its_queue_count(write_run, cell, step_row, trial_row):
    ps = cell("ps-async", 2)
    steps = [
        step_row(rank, step, queue_s=1.0, server_update_s=0.5, update_s=0.0, staleness=rank)
        for step in range(4)
        for rank in range(2)
    ]
    rows = [trial_row(ps["id"], pushes_sent=8, pushes_acknowledged=8, pushes_applied=8)]
    results = load(write_run([ps], rows, steps={(ps["id"], 0): steps}))
    row = _row(results.summary())
    assert row["wait_share"] == pytest.approx(0.1)
    assert row["comm_share"] == pytest.approx(0.25)
    assert row["update_share"] == pytest.approx(0.05)
    assert (row["staleness_mean"], row["staleness_max"]) == (0.5, 1.0)
    assert results.trials["pushes_applied"].tolist() == [8]


def test_peak_memory_is_the_median_of_each_repeats_largest(write_run, cell, trial_row):
    ps = cell("ps-sync", 2)
    peaks = ((5, 7, 20), (9, 1, 30), (8, 8, 10))
    rows = [trial_row(ps["id"], repeat, peak_memory_bytes=own) for repeat, own in enumerate(peaks)]
    results = load(write_run([ps], rows, repeats=3))
    assert results.trials["worker_peak_memory"].tolist() == [7, 9, 8]
    row = _row(results.summary())
    assert (row["worker_peak_memory"], row["server_peak_memory"]) == (8, 20)


def test_frames_carry_the_cell_and_the_varied_axes(write_run, cell, step_row, trial_row, eval_row):
    cells = [cell("ring", 2, lr=lr) for lr in (0.1, 0.2)]
    axes = ("strategy", "workers", "task.optimizer.lr")
    rows = []
    steps = {}
    for one in reversed(cells):
        rows += [trial_row(one["id"]), eval_row(one["id"], step=4), eval_row(one["id"], step=2)]
        steps[one["id"], 0] = [step_row(0, 0), step_row(1, 0)]
    results = load(write_run(cells, rows, steps=steps, axes=axes))
    assert results.trials["task.optimizer.lr"].tolist() == [0.1, 0.2]
    assert results.trials["transport"].tolist() == ["gloo", "gloo"]
    assert results.trials["label"].tolist() == ["ring, 2 workers"] * 2
    assert results.evals["step"].tolist() == [2, 4, 2, 4]
    assert set(results.steps["task.optimizer.lr"]) == {0.1, 0.2}
    assert results.steps.columns[:4].tolist() == [
        "cell_id", "strategy", "workers", "task.optimizer.lr",
    ]  # fmt: skip
    assert results.summary()["task.optimizer.lr"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize("axis", ["steps", "warmup", "transport"])
def test_an_axis_named_like_a_column_is_no_trouble(write_run, axis, cell, step_row, trial_row):
    ring = cell("ring", 2)
    ring["fields"][axis] = 4
    results = load(
        write_run(
            [ring], [trial_row(ring["id"])], steps={(ring["id"], 0): [step_row()]}, axes=(axis,)
        )
    )
    for frame in (results.trials, results.steps, results.evals, results.summary()):
        assert frame.columns.is_unique


def test_only_the_last_attempt_counts(write_run, cell, step_row, trial_row, eval_row):
    ring = cell("ring", 2)
    rows = [
        eval_row(ring["id"], step=1, accuracy=0.1),
        eval_row(ring["id"], step=1, accuracy=0.2, attempt=2),
        trial_row(ring["id"], attempt=2),
    ]
    results = load(write_run([ring], rows, steps={(ring["id"], 0): [step_row()]}))
    assert results.evals["accuracy"].tolist() == [0.2]
    assert results.trials["attempt"].tolist() == [2]
    assert len(results.steps) == 0


def test_a_run_interrupted_before_its_first_trial_ended(write_run, cell, step_row, eval_row):
    cells = [cell("ring", 2), cell("ps-async", 2)]
    steps = {(cells[0]["id"], 0): [step_row(0), step_row(1)]}
    rows = [eval_row(cells[0]["id"])]
    results = load(write_run(cells, rows, steps=steps, repeats=3, status="interrupted"))
    summary = results.summary()
    assert summary["num_unfinished"].tolist() == [3, 3]
    assert summary["samples_per_s"].isna().all()
    assert summary["num_censored"].tolist() == [0, 0]
    assert len(results.trials) == 0
    assert len(results.evals) == 1
    assert len(results.steps) == 2
    assert "0 of 6 trials ok, interrupted" in repr(results)


def test_a_run_without_any_row(write_run, cell):
    results = load(write_run([cell("ring", 2)], status=None))
    assert len(results.trials) == len(results.steps) == len(results.evals) == 0
    assert len(results.events) == 0
    assert results.status is None
    assert "not finished" in repr(results)


def test_failed_trials_stay_and_diverged_ones_are_censored(write_run, cell, trial_row):
    ring = cell("ring", 2)
    rows = [
        trial_row(ring["id"], 0, status="diverged", steps=3, samples=0, seconds=0.0),
        trial_row(
            ring["id"], 1, status="failed", error="rank 1 died", steps=0, samples=0, seconds=0.0,
            bytes_sent=(), bytes_received=(), messages_sent=(), messages_received=(),
        ),
        trial_row(ring["id"], 2, status="timed_out", error="no answer within 10 min"),
    ]  # fmt: skip
    results = load(write_run([ring], rows, repeats=3))
    row = _row(results.summary())
    counts = [row[f"num_{name}"] for name in ("ok", "diverged", "failed", "timed_out")]
    assert counts == [0, 1, 1, 1]
    assert row["num_censored"] == 2
    assert math.isnan(row["samples_per_s"])
    assert results.trials["error"].tolist()[1] == "rank 1 died"


def test_a_payload_has_no_samples_losses_or_target(write_run, cell, step_row, trial_row):
    payload = cell("ring", 2, task="payload", target=None, global_batch=0)
    rows = [trial_row(payload["id"], samples=0)]
    results = load(
        write_run([payload], rows, steps={(payload["id"], 0): [step_row(0), step_row(1)]})
    )
    row = _row(results.summary())
    assert row["step_s"] == 10.0
    for name in ("samples_per_s", "final_loss", "final_accuracy", "time_to_target_s"):
        assert math.isnan(row[name])
    assert row["num_censored"] == 0


def test_records_are_json_without_nan(write_run, cell, trial_row, eval_row):
    cells = [cell("ring", 2), cell("none", 2)]
    rows = [trial_row(cells[0]["id"]), eval_row(cells[0]["id"])]
    records = summary_records(load(write_run(cells, rows)))
    text = json.dumps(records, allow_nan=False)
    assert json.loads(text)[0]["workers"] == 2
    assert records[0]["samples_per_s"] == 8.0
    assert records[0]["time_to_target_s"] is None
    assert records[0]["num_censored"] == 1
    assert records[1]["samples_per_s"] is None


def test_load_takes_the_newest_run_of_a_spec_and_says_so(write_run, tmp_path, cell):
    ring = cell("ring", 2)
    paths = [write_run([ring], out=tmp_path / "quickstart" / name) for name in ("b", "a")]
    results = load(tmp_path / "quickstart")
    assert results.path == paths[1]
    assert repr(results).endswith("newest of 2 runs)")
    assert "newest of" not in repr(load(paths[0]))


def test_load_says_what_there_is_instead(write_run, tmp_path, cell):
    with pytest.raises(ResultsError, match="nowhere does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match="holds no run"):
        load(tmp_path)
    write_run([cell("ring", 2)])
    with pytest.raises(ResultsError, match="holds runs of quickstart; name one"):
        load(tmp_path)


def test_events_are_kept(write_run, cell):
    row = EventRow(time="2026-01-01T00:00:00+00:00", kind="note", message="hot", repeat=2)
    events = load(write_run([cell("ring", 2)], [row])).events
    assert events["message"].tolist() == ["hot"]
    assert events["repeat"].tolist() == [2]


def test_analysis_needs_neither_torch_nor_ray():
    script = (
        "import sys, psbench.analysis, psbench.analysis.plots\n"
        "print([name for name in ('torch', 'ray', 'matplotlib.pyplot') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"


def test_a_trial_without_a_single_step_is_a_row_all_the_same(write_run, cell, trial_row):
    ring = cell("ring", 2)
    folder = write_run([ring], [trial_row(ring["id"], 0, status="failed", error="no memory")])
    (folder / "steps").mkdir(exist_ok=True)
    with StepStream(folder / "steps", ring["id"], 0, 1):
        pass
    results = load(folder)
    assert len(results.steps) == 0
    assert results.summary()["num_failed"].tolist() == [1]


def test_a_bad_neighbour_hides_no_run(write_run, cell, tmp_path):
    good = write_run([cell("ring", 2)], [])
    bad = good.parent / "zzz"
    bad.mkdir()
    (bad / "manifest.json").write_text("[" * 100_000)
    assert load(good.parent).path == good
    with pytest.raises(ResultsError, match="is damaged"):
        load(bad)


def test_a_journal_of_another_run_is_damage(write_run, cell, trial_row):
    folder = write_run([cell("ring", 2)], [trial_row("f" * 64, 0)])
    with pytest.raises(ResultsError, match="its journal names cell ffffffffffff"):
        load(folder)


def test_help_names_every_measure_of_a_trial():
    told = Results.trials.__doc__ or ""
    assert [name for name in MEASURES if name.removesuffix("_bound") not in told] == []
