"""Each rule against sync, in pairs of trials of the same seed: what was lost, what restored it."""

import math
from dataclasses import dataclass
from itertools import product

import pandas as pd
from figures import MEASURES, RULES, SYNC
from scipy.stats import t

CONFIDENCE = 0.95
TUNINGS = ("sync", "own")
"""Whose best rate a rule was given."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean, and half the width of its t-interval."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one rule with so many workers, at the rate of one tuning."""

    task: str
    tuning: str
    workers: int
    rule: str
    lr: float
    figure: Interval
    gain: Interval
    """over sync with the same seed; above zero is better, whatever the measure"""
    over_none: Interval
    """the same, over no rule"""
    staleness: float
    num_diverged: int


def outcomes(trials: pd.DataFrame) -> list[Outcome]:
    """Return what came of each rule, in the order of tasks, tunings, workers and rules.

    Sync has its own best rate in both tunings, and gains nothing over itself.
    """
    found = []
    for task, tuning in product(MEASURES, TUNINGS):
        tuned = trials[(trials["task"] == task) & trials["tuning"].isin([tuning, "both"])]
        for workers, rule in product(sorted(tuned["workers"].unique()), (SYNC, *RULES)):
            at = tuned[tuned["workers"] == workers].set_index("repeat")
            own = at[at["rule"] == rule]
            if own.empty:
                continue
            found.append(
                Outcome(
                    task=task,
                    tuning=tuning,
                    workers=int(workers),
                    rule=rule,
                    lr=float(own["lr"].iloc[0]),
                    figure=interval(own["figure"]),
                    gain=_gain(task, own, at[at["rule"] == SYNC]),
                    over_none=_gain(task, own, at[at["rule"] == "none"]),
                    staleness=float(own["staleness_mean"].mean()),
                    num_diverged=int((own["status"] == "diverged").sum()),
                )
            )
    return found


def _gain(task: str, trials: pd.DataFrame, baseline: pd.DataFrame) -> Interval:
    """Return by how much `trials` did better, in pairs of repeats, their index."""
    return interval(MEASURES[task].sign * (trials["figure"] - baseline["figure"]))


def interval(values: pd.Series) -> Interval:
    """Return the mean of `values`, 2 at least, with its interval; NaN where a pair is missing."""
    error = values.std(ddof=1, skipna=False) / math.sqrt(len(values))
    half = t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * error
    return Interval(mean=float(values.mean(skipna=False)), half=float(half))
