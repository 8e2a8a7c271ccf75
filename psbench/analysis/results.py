"""A run, opened for reading."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pandas as pd

from psbench.analysis import frames
from psbench.analysis.ratios import ratios_frame
from psbench.analysis.summary import summary_frame
from psbench.analysis.workers import workers_frame
from psbench.errors import ResultsError
from psbench.results import (
    EvalRow,
    Journal,
    TrialRow,
    TrialSteps,
    find_runs,
    read_journal,
    read_manifest,
    read_status,
    read_steps,
)
from psbench.units import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = TypeVar("Row", TrialRow, EvalRow, TrialSteps)


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """One run: its frames, its summary, its plots. Make one with `load`.

    The frames are tidy (one row a trial, step, evaluation or event), in seconds, bytes and samples,
    and hold the last attempt of each trial only.
    """

    path: Path
    manifest: dict[str, Any]
    status: str | None
    """"finished", "interrupted" or "failed"; None for a run that goes on, or was killed."""
    journal: Journal
    num_runs: int = 1
    """How many runs `load` found where it looked; this is the newest."""

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row a trial that has ended: what it was, how it ended, its measures.

        Measures, over timed steps and all ranks, NaN where a trial lacks them: `samples_per_s`;
        `samples_per_s_per_host`, over the hosts that the spec asks for, servers' own among them, or
        else the machines that were used; `slowest_worker_samples_per_s` and
        `fastest_worker_samples_per_s`, of one worker while in a step; `step_s` (median) and
        `step_p95_s`; `comm_s`, the communication of a step, and `exposed_comm_s`, what of it no
        computing hides (means); `busiest_bytes_per_step`, of one node in one direction;
        `worker_peak_memory, server_peak_memory` (bytes, of the largest of each); `final_loss,
        final_accuracy`; `steps_to_target, samples_to_target, time_to_target_s`, infinite where it
        was not reached, and then beyond their `_bound`.

        `speedup` is samples_per_s over that of one worker, `efficiency` the speed-up over
        `workers`: against the cell with one worker that the spec has alike in all else, in the same
        repeat; NaN unless both trials are ok.

        Of servers: `staleness_mean, staleness_p95, staleness_max` (versions) of what they applied;
        of the busiest the `server_receiving_share, server_applying_share, server_sending_share` of
        the time (in virtual time the first and the last are its port's, and all go on side by
        side); `queue_mean, queue_max`, of the requests that lay before them;
        `version_spread_mean, version_spread_max`, between the shards that a rank has;
        `dropped_share` of all pushes.
        """
        return frames.trials_frame(
            self.manifest, self._last(self.journal.trials), self.steps, self.evals
        )

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row a rank and step, as logged, with step_s, sync_s, wait_s and comm_s."""
        return frames.steps_frame(
            self.manifest, self._last(self.journal.trials), self._last(self._streams)
        )

    @cached_property
    def evals(self) -> pd.DataFrame:
        """One row an evaluation: loss and accuracy after so many steps, samples and seconds."""
        return frames.evals_frame(self.manifest, self._last(self.journal.evals))

    @cached_property
    def queue(self) -> pd.DataFrame:
        """One row a change of the number of requests that lie before the servers of a trial:
        `length` holds from `seconds`, after its first step's begin, until the next. A request lies
        there from when its rank posts it until its server turns to it."""
        return frames.queue_frame(self.manifest, self._last(self.journal.trials), self.steps)

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row an event: what happened to the run that its people should know."""
        return frames.events_frame(self.journal.events)

    def summary(self) -> pd.DataFrame:
        """Return one row a cell, in the spec's order, with medians over the repeats.

        `samples_per_s, speedup, efficiency, step_s, final_loss, final_accuracy` and what it took to
        reach the target have their least and greatest repeat beside them (`_min`, `_max`);
        `speedup` and `efficiency`, against the same strategy with one worker, are NaN where the
        matrix has no such cell; `step_s` is the median
        over repeats of each repeat's median. `compute_share .. other_share` are fractions of the
        mean step time; `wait_share` is the queue's for asynchronous strategies. `comm_s` is the
        communication of a step, and `exposed_comm_s` what of it no computing hides.
        `steps_to_target, samples_to_target, time_to_target_s` are infinite where the median repeat
        never reached the target, and then lie beyond their `_bound`; `num_censored` repeats never
        reached it. `worker_peak_memory` and `server_peak_memory` are bytes, of the largest of each.
        What is measured at servers is as in `trials`, of each `_max` the greatest.
        `num_ok, num_diverged, num_timed_out, num_failed, num_unfinished` add up to `num_trials`.
        """
        return self._summary.copy()

    def workers(self) -> pd.DataFrame:
        """Return one row a trial that has ended and rank: how uneven workers were.

        Beside the cell's columns, `repeat`, `rank` and the trial's `status`: `samples_per_s` and
        `step_s` (median), of timed steps and of the time in them, whatever became of their pushes;
        `staleness_mean` (versions), of timed pushes that were not dropped, NaN without a server;
        `pushes` and `pushes_dropped` of them, of each shard, warm-up included.
        """
        return workers_frame(self.trials, self.steps)

    def ratios(self, baseline: str, measure: str = "samples_per_s") -> pd.DataFrame:
        """Return how each cell compares with the cell of strategy `baseline` that is else alike.

        One row a cell: `ratio` is the geometric mean over repeats of its `measure`, a column of
        `trials`, over the baseline's in the same repeat; it lies between `low` and `high` with
        95 % confidence (a paired t interval of the logarithms; NaN below 2 pairs). `num_pairs`
        repeats count: those in which both trials are ok and both values above zero. Raises
        ResultsError, naming the known ones, for an unknown strategy or measure.
        """
        return ratios_frame(self.manifest, self.trials, baseline, measure)

    def plot_convergence(self, metric: Literal["accuracy", "loss"] | None = None) -> "Figure":
        """Return `metric` against samples and against seconds, one line a cell; without it accuracy
        or, where there is none, loss."""
        from psbench.analysis.plots import plot_convergence

        return plot_convergence(self, metric)

    def plot_breakdown(self) -> "Figure":
        """Return where the time of a step goes, one bar a cell."""
        from psbench.analysis.plots import plot_breakdown

        return plot_breakdown(self)

    def plot_staleness(self) -> "Figure":
        """Return how many versions behind the gradients were that servers took, one panel a cell.

        Raises ResultsError where no push was stale.
        """
        from psbench.analysis.plots import plot_staleness

        return plot_staleness(self)

    def plot_axis(self, axis: str, *measures: str) -> "Figure":
        """Return columns of the summary against an axis of numbers, sizes or times, such as
        "task.optimizer.lr" or "task.payload".

        One panel a measure (without any: samples/s, against `workers` the efficiency as far as it
        is known, and what was learned), one line for the cells
        that differ in the axis alone. Raises ResultsError for an axis or measure that is not there.
        """
        from psbench.analysis.plots import plot_axis

        return plot_axis(self, axis, measures)

    def save_plots(self, folder: str | Path) -> list[Path]:
        """Write each plot that has data as a PNG into `folder`; return their paths."""
        from psbench.analysis.plots import save_plots

        return save_plots(self, Path(folder))

    def __repr__(self) -> str:
        num_cells = len(self.manifest["cells"])
        num_trials = num_cells * self.manifest["repeats"]
        ok = {(row.cell_id, row.repeat) for row in self.journal.trials if row.status == "ok"}
        parts = [
            str(self.path),
            count(num_cells, "cell"),
            f"{len(ok)} of {num_trials} trials ok",
            self.status or "not finished",
        ]
        if self.num_runs > 1:
            parts.append(f"newest of {self.num_runs} runs")
        return f"Results({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from psbench.analysis.tables import summary_html

        return summary_html(self)

    @cached_property
    def _summary(self) -> pd.DataFrame:
        return summary_frame(self.manifest, self.trials, self.steps)

    @property
    def _streams(self) -> Iterator[TrialSteps]:
        """The steps of each trial, read anew: all of them beside their frame would double it."""
        known = {cell["id"] for cell in self.manifest["cells"]}
        return (trial for trial in read_steps(self.path) if trial.cell_id in known)

    @cached_property
    def _attempts(self) -> dict[frames.Key, int]:
        return frames.last_attempts(chain(self.journal.trials, self.journal.evals, self._streams))

    def _last(self, rows: Iterable[Row]) -> Iterator[Row]:
        return (row for row in rows if row.attempt == self._attempts[row.cell_id, row.repeat])


def load(path: str | Path) -> Results:
    """Open the run in the folder `path`, or the newest of the runs in it.

    `load("results/quickstart")` opens the last run of that spec, and its `repr` says so. Raises
    ResultsError where there is no run, or one that this psbench cannot read.
    """
    folder = Path(path)
    runs = find_runs(folder)
    if not runs:
        raise ResultsError(_no_run(folder))
    manifest, run = _newest(runs)
    journal = read_journal(run)
    known = {cell["id"] for cell in manifest["cells"]}
    named = {row.cell_id for row in journal.trials} | {row.cell_id for row in journal.evals}
    if named - known:
        cell = min(named - known)[:12]
        raise ResultsError(
            f"{run} is damaged: its journal names cell {cell}, its manifest does not"
        )
    status = (read_status(run) or {}).get("status")
    return Results(
        path=run,
        manifest=manifest,
        status=status if isinstance(status, str) else None,
        journal=journal,
        num_runs=len(runs),
    )


def _newest(runs: list[Path]) -> tuple[dict[str, Any], Path]:
    """Return the newest run that can be read; raises for the newest where none can."""
    readable, error = [], None
    for run in runs:
        try:
            readable.append((read_manifest(run), run))
        except ResultsError as unreadable:
            error = unreadable
    if not readable:
        assert error is not None
        raise error
    return max(readable, key=lambda found: (found[0]["created"], found[1].name))


def _no_run(folder: Path) -> str:
    if not folder.exists():
        return f"{folder} does not exist; name a run's folder, or results/<spec name>"
    below = sorted({path.parent.parent.name for path in folder.glob("*/*/manifest.json")})
    if below:
        return f"{folder} holds runs of {', '.join(below)}; name one, such as {folder / below[0]}"
    return f"{folder} holds no run: no manifest.json in it or in a folder of it"
