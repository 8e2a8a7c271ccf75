"""The derived measures, as METRICS defines them: from logged times to wait, communication, target.

Warm-up steps train but are not timed: callers leave their rows out of every timing measure.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

Synchronisation = Literal["synchronous", "asynchronous", "none", "unseen"]
"""How ranks wait for each other; unseen: inside what computes, where nobody looked."""

_CONSISTENCIES: dict[str, Synchronisation] = {
    "synchronous": "synchronous",
    "asynchronous": "asynchronous",
}

CLOCK_NOISE_S = 1e-4
"""How far below zero a difference of readings may fall through the clock alone."""


def synchronisation(strategy: dict[str, Any]) -> Synchronisation:
    """Return how ranks wait for each other under `strategy`, a cell's field of that name: under
    one of local steps, where they do."""
    if strategy["kind"] in ("none", "bare"):
        return "none"
    if strategy["kind"] == "ddp":
        return "unseen"
    if strategy["kind"] == "parameter_server":
        return _CONSISTENCIES[strategy["consistency"]]
    if "over" in strategy:
        return synchronisation(strategy["over"])
    assert strategy["kind"] in ("all_reduce", "native"), f"who waits under {strategy}?"
    return "synchronous"


def derive_steps(
    steps: pd.DataFrame, *, kind: Synchronisation, workers: int, one_clock: bool
) -> pd.DataFrame:
    """Return one trial's `steps` with step_s, sync_s, wait_s, comm_s, exposed_sync_s and
    exposed_comm_s (all seconds) added.

    step_s: the whole step. sync_s: the synchronisation; of several buckets, all the time in which
    any was in flight. wait_s: synchronous strategies, the latest entry among the ranks of the step
    (into a bucket) minus this rank's own; NaN where the nodes' clocks differ (`one_clock` False) or
    a rank's row is missing, and for asynchronous strategies, where queue_s, NaN likewise where
    clocks differ, plays its part. comm_s: sync_s minus wait_s (or queue_s) minus server_update_s; a
    difference that clock noise made negative is 0, a larger one is left to be seen. exposed_*: the
    part after the rank's computing. Without synchronisation all of them are 0; where it is unseen
    they are NaN, and compute_s has it.
    """
    steps = steps.assign(step_s=steps["end_s"] - steps["begin_s"])
    if kind == "unseen":
        names = ("sync_s", "wait_s", "comm_s", "exposed_sync_s", "exposed_comm_s")
        return steps.assign(**dict.fromkeys(names, math.nan))
    sync = Synchronisations.of(steps)
    sync_s = sync.in_flight()
    exposed_sync_s = sync.in_flight(after=sync.computed)
    if kind == "none":
        return steps.assign(
            sync_s=sync_s, wait_s=0.0, comm_s=0.0, exposed_sync_s=exposed_sync_s, exposed_comm_s=0.0
        )
    if kind == "asynchronous":
        # a push may be taken up before its sender knows that it is sent: no queue then, as in a
        # step that pushed nothing
        queue_s = steps["queue_s"].clip(lower=0.0).where(sync_s > 0.0, 0.0)
        steps = steps.assign(queue_s=queue_s if one_clock else math.nan)
        wait_s: Any = math.nan
        comm_s, exposed_comm_s = sync_s - steps["queue_s"], exposed_sync_s - steps["queue_s"]
    else:
        ranks = steps.groupby("step")["rank"].transform("size")
        comparable = (ranks == workers) & (one_clock or workers == 1)
        met = sync.met(steps["step"])
        wait_s = pd.Series(sync.in_flight(before=met), index=steps.index).where(comparable)
        comm_s = pd.Series(sync.in_flight(after=met), index=steps.index).where(comparable)
        later = np.maximum(met, sync.computed)
        exposed_comm_s = pd.Series(sync.in_flight(after=later), index=steps.index).where(comparable)
    comm_s = comm_s - steps["server_update_s"]
    exposed_comm_s = exposed_comm_s - steps["server_update_s"]
    return steps.assign(
        sync_s=sync_s,
        wait_s=wait_s,
        comm_s=_without_noise(comm_s),
        exposed_sync_s=exposed_sync_s,
        exposed_comm_s=_without_noise(exposed_comm_s),
    )


def _without_noise(durations: "pd.Series[float]") -> "pd.Series[float]":
    return durations.mask(durations.between(-CLOCK_NOISE_S, 0.0), 0.0)


@dataclass(frozen=True, kw_only=True)
class Synchronisations:
    """When a trial's synchronisations began and ended, shape (rows, buckets), and when each row's
    rank had computed, shape (rows, 1)."""

    enters: npt.NDArray[np.float64]
    exits: npt.NDArray[np.float64]
    computed: npt.NDArray[np.float64]

    @staticmethod
    def of(steps: pd.DataFrame) -> "Synchronisations":
        """Return those of a trial's step rows, which have all as many buckets or, where nothing is
        synchronised, one moment in the place of all."""
        buckets = int(steps["enters"].map(len).max())
        if buckets > 0:
            enters = _padded(steps["enters"], steps["enter_s"], buckets)
            exits = _padded(steps["exits"], steps["exit_s"], buckets)
        else:
            enters, exits = (steps[[name]].to_numpy(dtype=float) for name in ("enter_s", "exit_s"))
        computed = (steps["begin_s"] + steps["compute_s"]).to_numpy(dtype=float)[:, None]
        return Synchronisations(enters=enters, exits=exits, computed=computed)

    def met(self, step: "pd.Series[int]") -> npt.NDArray[np.float64]:
        """Return when the last rank of each row's step had entered each bucket."""
        entries = pd.DataFrame(self.enters).groupby(step.to_numpy())
        latest: npt.NDArray[np.float64] = entries.transform("max").to_numpy(dtype=float)
        return latest

    def in_flight(self, *, after: Any = -math.inf, before: Any = math.inf) -> Any:
        """Return how long, row by row, any bucket was in flight, between two moments."""
        begins, ends = np.maximum(self.enters, after), np.minimum(self.exits, before)
        order = np.argsort(begins, axis=1)
        begins, ends = np.take_along_axis(begins, order, 1), np.take_along_axis(ends, order, 1)
        reached = np.maximum.accumulate(ends, axis=1)
        # of each interval, what lies beyond all that began before it
        gone = np.concatenate([np.full((len(ends), 1), -np.inf), reached[:, :-1]], axis=1)
        return np.maximum(0.0, ends - np.maximum(begins, gone)).sum(axis=1)


def _padded(
    times: "pd.Series[Any]", moments: "pd.Series[float]", width: int
) -> npt.NDArray[np.float64]:
    """Return `times`, sequences of `width` or none, as rows; a moment stands for all of none."""
    rows = zip(times, moments, strict=True)
    return np.array([list(own) if len(own) else [moment] * width for own, moment in rows])


def busiest_bytes_per_step(sent: tuple[int, ...], received: tuple[int, ...], steps: int) -> float:
    """Return the most bytes that crossed one node's port in one direction, a step.

    `sent` and `received` have one entry a node. NaN where nothing was counted, or could be: a
    backend that moves bytes by its own ways leaves -1.
    """
    if steps == 0 or not sent or min(sent) < 0:
        return math.nan
    return max(*sent, *received) / steps


def peak_memory(nbytes: tuple[int, ...], workers: int) -> dict[str, float]:
    """Return the most bytes that a worker held at once, and a server: worker_peak_memory, ...

    `nbytes` has one entry a node, workers first. NaN where it is empty, or there is no server.
    """
    return {
        "worker_peak_memory": float(max(nbytes[:workers], default=math.nan)),
        "server_peak_memory": float(max(nbytes[workers:], default=math.nan)),
    }


def step_measures(timed: pd.DataFrame) -> dict[str, float]:
    """Return one trial's step_s (median), step_p95_s, communication (means) and staleness from its
    `timed` step rows.

    Over all ranks and steps; staleness is in versions, and NaN where there is no server.
    """
    stale = timed["staleness"][timed["staleness"] >= 0]
    return {
        "step_s": _quantile(timed["step_s"], 0.5),
        "step_p95_s": _quantile(timed["step_s"], 0.95),
        "comm_s": float(timed["comm_s"].mean()),
        "exposed_comm_s": float(timed["exposed_comm_s"].mean()),
        "staleness_mean": float(stale.mean()) if len(stale) else math.nan,
        "staleness_p95": _quantile(stale, 0.95),
        "staleness_max": float(stale.max()) if len(stale) else math.nan,
    }


def target_measures(
    evals: pd.DataFrame, target: dict[str, float] | None, trained: dict[str, float]
) -> dict[str, float]:
    """Return what one trial needed to reach `target` ({"accuracy": 0.95} or {"loss": 0.1}).

    `steps_to_target`, `samples_to_target` and `time_to_target_s` are those of the first evaluation
    at or over the target (for a loss: at or under). A target never reached is censored: they are
    infinite, and each one's `_bound` says how far the trial went without reaching it (its last
    evaluation, or `trained` where it had none). Where it was reached the bound is the value itself.
    All NaN without a target.
    """
    names = {
        "steps_to_target": "step",
        "samples_to_target": "samples",
        "time_to_target_s": "seconds",
    }
    if target is None:
        return {column: math.nan for name in names for column in (name, f"{name}_bound")}
    ((metric, goal),) = ((key, value) for key, value in target.items() if value is not None)
    values = evals[metric].astype(float)
    reached = evals[values >= goal if metric == "accuracy" else values <= goal]
    measures: dict[str, float] = {}
    for name, column in names.items():
        if len(reached):
            bound = value = float(reached[column].iloc[0])
        else:
            value = math.inf
            bound = float(evals[column].iloc[-1]) if len(evals) else trained[column]
        measures |= {name: value, f"{name}_bound": bound}
    return measures


def _quantile(values: pd.Series, q: float) -> float:
    return float(values.quantile(q)) if len(values) else math.nan
