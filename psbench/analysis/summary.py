"""The summary: one row a cell, medians over its repeats with their spread.

Rates, durations, shares, bytes, staleness and final values rest on the trials that ended "ok".
What it took to reach the target rests on all that trained to an end of their own: a trial that
diverged or timed out without reaching it is censored like any other, one that failed is missing.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from psbench.analysis.frames import cell_columns
from psbench.analysis.scaling import SCALING

PARTS = ("compute", "wait", "comm", "update", "other")
"""What a step's time is made of, in this order; `wait` is the queue of asynchronous strategies."""

_STATUSES = ("ok", "diverged", "timed_out", "failed")
_WITH_SPREAD = ("samples_per_s", *SCALING, "step_s", "final_loss", "final_accuracy")
_MEDIANS = (
    "samples_per_s_per_host",
    "slowest_worker_samples_per_s",
    "fastest_worker_samples_per_s",
    "step_p95_s",
    "comm_s",
    "exposed_comm_s",
    "busiest_bytes_per_step",
    "worker_peak_memory",
    "server_peak_memory",
    "staleness_mean",
    "staleness_p95",
    "server_receiving_share",
    "server_applying_share",
    "server_sending_share",
    "queue_mean",
    "version_spread_mean",
    "dropped_share",
)
_GREATEST = ("staleness_max", "queue_max", "version_spread_max")
_OF_A_STEP = [
    "cell_id",
    "repeat",
    "compute_s",
    "exposed_sync_s",
    "exposed_comm_s",
    "update_s",
    "exposed_server_update_s",
    "step_s",
]
_TO_TARGET = ("steps_to_target", "samples_to_target", "time_to_target_s")


def summary_frame(
    manifest: dict[str, Any], trials: pd.DataFrame, steps: pd.DataFrame
) -> pd.DataFrame:
    """Return one row a cell, in the spec's order; `Results.summary` names the columns."""
    parts = step_parts(trials, steps)
    records = []
    for cell_id, columns in cell_columns(manifest).items():
        own = trials[trials["cell_id"] == cell_id]
        records.append(
            {"cell_id": cell_id, **columns}
            | ({"transport": _joined(own["transport"])} if len(own) else {})
            | _counts(own["status"], manifest["repeats"])
            | _medians(own[own["status"] == "ok"])
            | _shares(parts[parts.index == cell_id])
            | _to_target(own[own["status"] != "failed"])
        )
    return pd.DataFrame(records)


def step_parts(trials: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return where a step's time goes, in seconds: index cell_id, columns PARTS, `sync`, `step`.

    Means over ranks, timed steps and repeats of the trials that ended "ok": means, unlike medians,
    add up. Of wait, comm and a server's update it is the part that no computing hides. `update` is
    the worker's and the server's together, `other` is what remains; `sync` is wait and comm
    together, known even where several clocks leave them NaN (and then, where buckets overlap with
    computing, with the server's update in it), and NaN where compute has it.
    """
    ok = trials.loc[trials["status"] == "ok", ["cell_id", "repeat"]]
    timed = steps.loc[~steps["warmup"].astype(bool), _OF_A_STEP].merge(ok, on=["cell_id", "repeat"])
    sync = (timed["exposed_sync_s"] - timed["exposed_server_update_s"]).clip(lower=0.0)
    parts = pd.DataFrame(
        {
            "cell_id": timed["cell_id"],
            "compute": timed["compute_s"],
            "wait": (sync - timed["exposed_comm_s"]).clip(lower=0.0),
            "comm": timed["exposed_comm_s"],
            "sync": sync,
            "update": timed["update_s"] + timed["exposed_server_update_s"],
            "step": timed["step_s"],
        }
    )
    means = parts.groupby("cell_id").mean()
    sync_or_none = means["sync"].fillna(0.0)
    means["other"] = means["step"] - means["compute"] - sync_or_none - means["update"]
    return means


def _counts(statuses: pd.Series, repeats: int) -> dict[str, int]:
    counts = {f"num_{status}": int((statuses == status).sum()) for status in _STATUSES}
    return {"num_trials": repeats, **counts, "num_unfinished": repeats - len(statuses)}


def _medians(ok: pd.DataFrame) -> dict[str, float]:
    medians: dict[str, float] = {}
    for name in _WITH_SPREAD:
        values = ok[name].dropna()
        medians |= {name: median(values)} | _spread(name, values)
    medians |= {name: median(ok[name].dropna()) for name in _MEDIANS}
    return medians | {name: float(ok[name].max()) if len(ok) else math.nan for name in _GREATEST}


def _shares(parts: pd.DataFrame) -> dict[str, float]:
    shares = parts[list(PARTS)].div(parts["step"], axis=0)
    return {f"{name}_share": float(shares[name].sum(min_count=1)) for name in PARTS}


def _to_target(trained: pd.DataFrame) -> dict[str, float]:
    # The median of the bounds bounds the median: each repeat's bound is at most its true value.
    columns = [column for name in _TO_TARGET for column in (name, f"{name}_bound")]
    measures = {column: median(trained[column].dropna()) for column in columns}
    for name in _TO_TARGET:
        measures |= _spread(name, trained[name].dropna())
    return measures | {
        "num_censored": int(np.isinf(trained["steps_to_target"].astype(float)).sum())
    }


def _spread(name: str, values: "pd.Series[Any]") -> dict[str, float]:
    low, high = (float(values.min()), float(values.max())) if len(values) else (math.nan,) * 2
    return {f"{name}_min": low, f"{name}_max": high}


def median(values: "pd.Series[Any]") -> float:
    """Return the median, infinite where the middle is; NaN of nothing."""
    return float(np.median(values.to_numpy(dtype=float))) if len(values) else math.nan


def _joined(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
