"""What a run tells while it goes on: a bar on a terminal, a line a trial elsewhere. On stderr."""

import contextlib
import sys
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from psbench.results import TrialRow
from psbench.spec import Trial
from psbench.units import format_seconds


class Reporter(Protocol):
    """Is told what happens, in order. A context manager."""

    def say(self, message: str) -> None:
        """Show one line."""

    def begin(self, trial: Trial, label: str) -> None:
        """A trial of the cell called `label` starts."""

    def step(self, done: int) -> None:
        """`done` steps of the trial are finished by all ranks."""

    def end(self, row: TrialRow) -> None:
        """The trial ended."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def reporter(num_trials: int, done: int = 0) -> Reporter:
    """Return the reporter that fits stderr, for a run with `done` of its trials behind it."""
    console = Console(stderr=True)
    return Bar(num_trials, done, console) if console.is_terminal else Lines(num_trials, done)


class Lines:
    """One plain line for each trial that ended."""

    def __init__(self, num_trials: int, done: int) -> None:
        self._total = num_trials
        self._done = done
        self._trial: Trial | None = None
        self._what = ""

    def say(self, message: str) -> None:
        # who reads along may leave: that ends no measurement
        with contextlib.suppress(OSError):
            print(message, file=sys.stderr, flush=True)

    def begin(self, trial: Trial, label: str) -> None:
        self._trial = trial
        self._what = _what(trial, label)

    def step(self, done: int) -> None:
        return None

    def end(self, row: TrialRow) -> None:
        assert self._trial is not None
        self._done += 1
        outcome = describe(row, warmup=self._trial.cell.warmup)
        self.say(f"[{self._done}/{self._total}] {self._what}: {outcome}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Bar:
    """Two bars: trials of the run, steps of the trial."""

    def __init__(self, num_trials: int, done: int, console: Console) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._trials = self._bars.add_task("trials", total=num_trials, completed=done)
        self._steps = self._bars.add_task("steps", total=None)
        self._trial: Trial | None = None
        self._what = ""

    def say(self, message: str) -> None:
        self._bars.console.print(message, highlight=False, markup=False, soft_wrap=True)

    def begin(self, trial: Trial, label: str) -> None:
        self._trial = trial
        self._what = _what(trial, label)
        self._bars.reset(self._steps, total=trial.cell.steps, description=self._what)

    def step(self, done: int) -> None:
        self._bars.update(self._steps, completed=done)

    def end(self, row: TrialRow) -> None:
        assert self._trial is not None
        self._bars.advance(self._trials)
        if row.status != "ok":
            self.say(f"{self._what}: {describe(row, warmup=self._trial.cell.warmup)}")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()


def describe(row: TrialRow, *, warmup: int) -> str:
    """Return in a few words how a trial ended, the first `warmup` of its steps not timed."""
    if row.status == "diverged":
        return f"diverged after {row.steps} steps"
    if row.status != "ok":
        return f"{row.status.replace('_', ' ')}: {row.error}"
    return f"ok, {format_seconds(row.seconds / (row.steps - warmup))} a step in the mean"


def _what(trial: Trial, label: str) -> str:
    return f"{label}, repeat {trial.repeat}"
