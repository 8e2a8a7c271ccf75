"""Workers one by one: how fast each was, and what became of its pushes."""

import math
from collections.abc import Sequence

import pandas as pd


def workers_frame(trials: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return one row a rank of each of `trials` that has rows in `steps`; `Results.workers` names
    the columns."""
    columns = list(trials.columns)
    identity = [*columns[: columns.index("repeat") + 1], "status"]
    by = ["cell_id", "repeat", "rank"]
    timed = steps[~steps["warmup"].astype(bool)]
    answered = timed[(timed["staleness"] >= 0) & (timed["dropped"] == 0)]
    own = pd.DataFrame(
        {
            "samples_per_s": worker_rates(timed, by),
            "step_s": timed.groupby(by)["step_s"].median().astype(float),
            "pushes": steps.assign(sent=steps["sents"].map(len)).groupby(by)["sent"].sum(),
            "staleness_mean": answered.groupby(by)["staleness"].mean().astype(float),
            "pushes_dropped": steps.groupby(by)["dropped"].sum().astype(int),
        }
    )
    return trials[identity].merge(own.reset_index(), on=by[:2])


def worker_extremes(timed: pd.DataFrame) -> dict[str, float]:
    """Return the rates of one trial's slowest and fastest worker, from its `timed` step rows."""
    rates = worker_rates(timed, ["rank"]).dropna()
    low, high = (float(rates.min()), float(rates.max())) if len(rates) else (math.nan,) * 2
    return {"slowest_worker_samples_per_s": low, "fastest_worker_samples_per_s": high}


def worker_rates(timed: pd.DataFrame, by: Sequence[str]) -> "pd.Series[float]":
    """Return the samples a second of each group of `timed` step rows, while in a step.

    What lies between steps, such as copying parameters for evaluation, is left out, as it is of a
    trial's own rate. NaN for a payload, which has no samples.
    """
    sums = timed.groupby(list(by))[["samples", "step_s"]].sum().astype(float)
    return (sums["samples"] / sums["step_s"]).where(sums["samples"] > 0)
