"""The derived measures, as METRICS defines them: from logged times to wait, communication, target.

Warm-up steps train but are not timed: callers leave their rows out of every timing measure.
"""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from psbench.analysis.synchronisations import Synchronisations, covered

Synchronisation = Literal["synchronous", "asynchronous", "none", "unseen"]
"""How ranks wait: synchronous, for each other in a step; asynchronous, as long as a server lets
them; unseen: inside what computes, where nobody looked."""


def synchronisation(strategy: dict[str, Any]) -> Synchronisation:
    """Return how ranks wait for each other under `strategy`, a cell's field of that name: under
    one of local steps, where they do."""
    if strategy["kind"] in ("none", "bare"):
        return "none"
    if strategy["kind"] == "ddp":
        return "unseen"
    if strategy["kind"] == "parameter_server":
        in_step = strategy["consistency"] == "synchronous" and not strategy.get("backup")
        return "synchronous" if in_step else "asynchronous"
    if "over" in strategy:
        return synchronisation(strategy["over"])
    assert strategy["kind"] in ("all_reduce", "native"), f"who waits under {strategy}?"
    return "synchronous"


def waits_for_some(strategy: dict[str, Any]) -> bool:
    """Say whether servers hold workers back until some of the others have pushed, not all."""
    own = strategy.get("over", strategy)
    return any(own.get(field) not in (None, 0) for field in ("bound", "backup", "staleness"))


def derive_steps(
    steps: pd.DataFrame, *, kind: Synchronisation, workers: int, one_clock: bool
) -> pd.DataFrame:
    """Return one trial's `steps` with step_s, sync_s, wait_s, comm_s, exposed_sync_s,
    exposed_comm_s and exposed_server_update_s (all seconds) added.

    step_s: the whole step. sync_s: the synchronisation, all the time in which any bucket was in
    flight. comm_s: the part of it in which any bucket neither waited nor was applied by a server.
    wait_s: synchronous strategies, the time in which any bucket waited for the latest entry of the
    step's ranks; NaN for asynchronous strategies, where a push waits in a server's queue and, under
    rules that let it, for other workers, until the update before its answer. exposed_*: the part
    after the rank's computing, the server's update as far as nothing was communicated meanwhile;
    what is left of exposed_sync_s is exposed waiting.

    Where nodes' clocks differ (`one_clock` False) or a rank's row is missing, wait_s, queue_s,
    comm_s and exposed_comm_s are NaN, and of a server's update only what no computing can have
    hidden counts as exposed. Without synchronisation all are 0; where it is unseen they are NaN
    (the server's update 0), and compute_s has it.
    """
    steps = steps.assign(step_s=steps["end_s"] - steps["begin_s"], exposed_server_update_s=0.0)
    if kind == "unseen":
        names = ("sync_s", "wait_s", "comm_s", "exposed_sync_s", "exposed_comm_s")
        return steps.assign(**dict.fromkeys(names, math.nan))
    queued = kind == "asynchronous"
    sync = Synchronisations.of(steps, queued=queued, one_clock=one_clock)
    steps = steps.assign(
        sync_s=covered(sync.flight),
        exposed_sync_s=sync.exposed(sync.flight),
        queue_s=steps["queue_s"].clip(lower=0.0) if one_clock else math.nan,
    )
    if kind == "none":
        return steps.assign(wait_s=0.0, comm_s=0.0, exposed_comm_s=0.0)
    known = sync.told & _comparable(steps, queued=queued, workers=workers, one_clock=one_clock)
    exposed_comm_s = sync.exposed(sync.communicating)
    update_s = sync.exposed(sync.beyond_waiting) - exposed_comm_s
    unhidden_s = np.minimum(steps["server_update_s"], steps["exposed_sync_s"])
    return steps.assign(
        wait_s=math.nan if queued else np.where(known, covered(sync.waiting), math.nan),
        comm_s=np.where(known, covered(sync.communicating), math.nan),
        exposed_comm_s=np.where(known, exposed_comm_s, math.nan),
        exposed_server_update_s=np.where(
            known, np.maximum(update_s, 0.0), np.where(sync.overlapping, 0.0, unhidden_s)
        ),
    )


def _comparable(
    steps: pd.DataFrame, *, queued: bool, workers: int, one_clock: bool
) -> npt.NDArray[np.bool_]:
    """Return of which rows the readings may be compared that tell waiting from communication."""
    if queued:
        return np.full(len(steps), one_clock)
    ranks = steps.groupby("step")["rank"].transform("size").to_numpy()
    comparable: npt.NDArray[np.bool_] = (ranks == workers) & (one_clock or workers == 1)
    return comparable


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

    Over all ranks and steps; staleness is in versions, of what was not dropped, and NaN where there
    is no server.
    """
    stale = timed["staleness"][(timed["staleness"] >= 0) & (timed["dropped"] == 0)]
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
