"""When the synchronisations of a trial were in flight, and what each was at meanwhile.

Shares are measured as unions of intervals and never as differences of durations: buckets are in
flight side by side, and computing hides a part of what each is at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Readings = npt.NDArray[np.float64]
"""Of a clock; shape (rows, buckets)."""

Durations = npt.NDArray[np.float64]
"""Seconds, shape (rows,)."""

Intervals = tuple[Readings, Readings]
"""Begins and ends; one that ends before it begins is empty."""


@dataclass(frozen=True, kw_only=True)
class Synchronisations:
    """The buckets of a trial's step rows, each in its stages: on its way, waiting (for other ranks
    or in a server's queue), on its way, being applied by a server, on its way."""

    moments: Readings
    """From when to when each bucket was in each stage, shape (6, rows, buckets), ascending."""
    computed: Readings
    """When each row's rank had computed, shape (rows, 1)."""
    told: bool
    """Whether the stages inside a flight are known: of several buckets at a server, only by the
    readings of one clock. Where they are not, only whole flights mean anything."""

    @staticmethod
    def of(steps: pd.DataFrame, *, queued: bool, one_clock: bool) -> "Synchronisations":
        """Return those of a trial's step rows. `queued`: a push waits for its server, not for the
        pushes of other ranks.

        A row that tells of no buckets has its only synchronisation in the place of each.
        """
        enters, exits = _by_bucket(steps, "enters", "enter_s"), _by_bucket(steps, "exits", "exit_s")
        update_s = steps["server_update_s"].to_numpy(dtype=float)[:, None]
        queue_s = steps["queue_s"].clip(lower=0.0).fillna(0.0).to_numpy(dtype=float)[:, None]
        read = one_clock and bool((steps["update_ends"].map(len) > 0).any())
        if read:
            names = ("update_begins", "update_ends")
            begins, ends = (_by_bucket(steps, name, "exit_s") for name in names)
        elif queued:
            begins, ends = enters + queue_s, enters + queue_s + update_s
        else:
            begins, ends = exits - update_s, exits
        if queued:
            # a push may be taken up before its sender knows that it is sent
            sent = np.minimum(_by_bucket(steps, "sents", "enter_s"), begins) if read else enters
            waiting = (sent, begins)
        else:
            waiting = (enters, _latest_of_step(enters, steps["step"]))
        moments = np.stack([enters, *waiting, begins, ends, exits])
        return Synchronisations(
            moments=np.minimum(np.maximum.accumulate(moments), exits),
            computed=(steps["begin_s"] + steps["compute_s"]).to_numpy(dtype=float)[:, None],
            told=read or enters.shape[1] == 1 or not (queued or update_s.any()),
        )

    @property
    def flight(self) -> Intervals:
        """When each bucket was in flight."""
        return self.moments[0], self.moments[5]

    @property
    def waiting(self) -> Intervals:
        return self.moments[1], self.moments[2]

    @property
    def communicating(self) -> Intervals:
        """When each bucket was on its way, shape (rows, 3 x buckets)."""
        return self._from([0, 2, 4]), self._from([1, 3, 5])

    @property
    def beyond_waiting(self) -> Intervals:
        """When each bucket was on its way or being applied, shape (rows, 2 x buckets)."""
        return self._from([0, 2]), self._from([1, 5])

    def exposed(self, intervals: Intervals) -> Durations:
        """Return how long any of `intervals` went on after computing."""
        return covered(intervals, after=self.computed)

    @property
    def overlapping(self) -> npt.NDArray[np.bool_]:
        """Which rows' ranks computed while a bucket was in flight."""
        began: npt.NDArray[np.bool_] = (self.moments[0] < self.computed).any(axis=1)
        return began

    def _from(self, stages: list[int]) -> Readings:
        return np.concatenate(list(self.moments[stages]), axis=1)


def covered(intervals: Intervals, *, after: float | Readings = -math.inf) -> Durations:
    """Return how much time, row by row, any of `intervals` covers, as far as it is later."""
    begins, ends = np.maximum(intervals[0], after), intervals[1]
    order = np.argsort(begins, axis=1)
    begins, ends = np.take_along_axis(begins, order, 1), np.take_along_axis(ends, order, 1)
    reached = np.maximum.accumulate(ends, axis=1)
    # of each interval, what lies beyond all that began before it
    gone = np.concatenate([np.full((len(ends), 1), -np.inf), reached[:, :-1]], axis=1)
    total: Durations = np.maximum(0.0, ends - np.maximum(begins, gone)).sum(axis=1)
    return total


def _by_bucket(steps: pd.DataFrame, several: str, one: str) -> Readings:
    """Return a column of tuples as an array; a row without any has its `one` for all."""
    buckets = max(1, int(steps["enters"].map(len).max()), int(steps["update_ends"].map(len).max()))
    rows: Sequence[Sequence[float]] = [
        own if len(own) else (instead,) * buckets
        for own, instead in zip(steps[several], steps[one], strict=True)
    ]
    return np.array(rows, dtype=float)


def _latest_of_step(enters: Readings, step: "pd.Series[int]") -> Readings:
    """Return when the last rank of each row's step had entered each bucket."""
    entries = pd.DataFrame(enters).groupby(step.to_numpy())
    latest: Readings = entries.transform("max").to_numpy(dtype=float)
    return latest
