"""Where a real step's time goes: shares that add up, whatever goes on side by side."""

import pandas as pd
import pytest

from psbench.analysis.measures import derive_steps, step_measures
from psbench.analysis.summary import PARTS, step_parts
from psbench.spec import Spec


def make_cell(consistency, *, overlap, bucket, transport):
    (cell,) = Spec(
        name="shares",
        task={"model": "digits_cnn", "optimizer": {"kind": "adam", "lr": 0.001}},
        batch={"per_worker": 8},
        steps=8,
        warmup=2,
        workers=2,
        transport=transport,
        strategy={
            "kind": "parameter_server",
            "consistency": consistency,
            "bucket": bucket,
            "overlap": overlap,
        },
    ).cells()
    return cell


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize(
    ("overlap", "bucket"), [(True, "20 KiB"), (False, "20 KiB"), (True, "1 MiB"), (False, None)]
)
@pytest.mark.parametrize("consistency", ["synchronous", "asynchronous"])
def test_shares_of_a_server_add_up(consistency, overlap, bucket, transport, run_trial):
    outcome = run_trial(make_cell(consistency, overlap=overlap, bucket=bucket, transport=transport))
    frame = pd.DataFrame(outcome.rows, columns=list(outcome.rows[0]._fields))
    steps = derive_steps(frame, kind=consistency, workers=2, one_clock=True)
    for row in steps.to_dict("records"):
        pushes = zip(row["update_begins"], row["update_ends"], strict=True)
        assert all(row["begin_s"] <= begin <= end <= row["exit_s"] for begin, end in pushes)
        assert len(row["update_ends"]) == len(row["sents"]) == max(1, len(row["enters"]))
        assert 0 <= row["exposed_comm_s"] <= row["comm_s"] + 1e-9
        assert row["exposed_sync_s"] <= row["sync_s"] + 1e-9
        assert row["comm_s"] > 0
        if not overlap:
            assert row["exposed_sync_s"] == pytest.approx(row["sync_s"])
            updates = zip(row["update_begins"], row["update_ends"], strict=True)
            longest = max(end - begin for begin, end in updates)
            assert row["exposed_server_update_s"] <= row["server_update_s"] + 1e-9
            assert bucket or row["exposed_server_update_s"] == pytest.approx(longest)
    measures = step_measures(steps[~steps["warmup"]])
    assert 0 <= measures["exposed_comm_s"] <= measures["comm_s"]
    named = steps.assign(cell_id="cell", repeat=0)
    trials = pd.DataFrame({"cell_id": ["cell"], "repeat": [0], "status": ["ok"]})
    (parts,) = step_parts(trials, named).to_dict("records")
    assert all(parts[name] >= 0 for name in PARTS)
    assert sum(parts[name] for name in PARTS) == pytest.approx(parts["step"])
    assert parts["sync"] == pytest.approx(parts["wait"] + parts["comm"])


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize("consistency", ["synchronous", "asynchronous"])
def test_what_a_server_is_at_is_told_apart(consistency, transport, run_trial):
    cell = make_cell(consistency, overlap=False, bucket="20 KiB", transport=transport)
    outcome = run_trial(cell)
    for row in outcome.rows:
        turns = zip(row.enters, row.turns, row.update_begins, strict=True)
        # the words a server hears may be there before their sender looks at the clock
        assert all(entered - 0.01 <= turned <= begun for entered, turned, begun in turns)
    report = outcome.reports[2]
    parts = [report.server_times.of(name) for name in ("receiving", "applying", "sending")]
    assert all(part > 0 for part in parts)
    waited = report.server_times.of("waiting") + report.server_times.of("keeping")
    assert sum(parts) + waited == pytest.approx(report.seconds, abs=0.05)
