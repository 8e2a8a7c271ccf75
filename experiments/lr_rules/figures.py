"""What the trials of these runs come to: one row each, as choosing and the page read them."""

import math
import sys
from dataclasses import dataclass

import pandas as pd

from psbench import Results

SYNC = "sync"
RULES = (
    "none",
    "inverse_workers",
    "staleness_aware",
    "delay_compensated",
    "delay_compensated_adaptive",
)
"""Of asynchronous servers. With one worker nothing is stale, and `none` stands for all."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What a task is judged by, on held-out samples."""

    column: str
    """of `Results.trials`"""
    name: str
    sign: int
    """1 where more is better, -1 where less is"""
    blind: float
    """what guessing blindly makes"""
    margin: float
    """how much worse than sync still counts as no worse"""


MEASURES = {
    "digits_cnn": Measure(column="final_accuracy", name="accuracy", sign=1, blind=0.1, margin=0.02),
    "byte_lm": Measure(
        column="final_loss", name="nats a byte", sign=-1, blind=math.log(256), margin=0.05
    ),
}


def trial_figures(results: Results) -> pd.DataFrame:
    """Return one row a trial: task, workers, rule, lr, repeat, status, figure, staleness_mean.

    `figure` is the task's measure at the end. A trial that diverged, or ended worse than guessing
    blindly, counts as guessing blindly. Ends the program where trials are missing or failed.
    """
    trials = results.trials
    num_trials = len(results.manifest["cells"]) * results.manifest["repeats"]
    if len(trials) < num_trials or not trials["status"].isin(["ok", "diverged"]).all():
        sys.exit(f"{results.path}: trials are missing or failed; psbench run --resume goes on")
    (task,) = trials["task"].unique()
    measure = MEASURES[task]
    sync = trials["strategy.consistency"] == "synchronous"
    figure = trials[measure.column]
    counts = (trials["status"] == "ok") & (measure.sign * (figure - measure.blind) > 0)
    return pd.DataFrame(
        {
            "task": task,
            "workers": trials["workers"],
            "rule": trials["strategy.lr_rule.kind"].mask(sync, SYNC),
            "lr": trials["task.optimizer.lr"],
            "repeat": trials["repeat"],
            "status": trials["status"],
            "figure": figure.where(counts, measure.blind),
            "staleness_mean": trials["staleness_mean"],
        }
    )
