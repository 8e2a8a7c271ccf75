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

    def begin(self, trial: Trial) -> None:
        """A trial starts."""

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


def reporter(num_trials: int) -> Reporter:
    """Return the reporter that fits stderr."""
    console = Console(stderr=True)
    return Bar(num_trials, console) if console.is_terminal else Lines(num_trials)


class Lines:
    """One plain line for each trial that ended."""

    def __init__(self, num_trials: int) -> None:
        self._total = num_trials
        self._done = 0
        self._trial: Trial | None = None

    def say(self, message: str) -> None:
        # who reads along may leave: that ends no measurement
        with contextlib.suppress(OSError):
            print(message, file=sys.stderr, flush=True)

    def begin(self, trial: Trial) -> None:
        self._trial = trial

    def step(self, done: int) -> None:
        return None

    def end(self, row: TrialRow) -> None:
        assert self._trial is not None
        self._done += 1
        self.say(f"[{self._done}/{self._total}] {describe(self._trial, row)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Bar:
    """Two bars: trials of the run, steps of the trial."""

    def __init__(self, num_trials: int, console: Console) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._trials = self._bars.add_task("trials", total=num_trials)
        self._steps = self._bars.add_task("steps", total=None)

    def say(self, message: str) -> None:
        self._bars.console.print(message, highlight=False, markup=False, soft_wrap=True)

    def begin(self, trial: Trial) -> None:
        self._bars.reset(
            self._steps,
            total=trial.cell.steps,
            description=f"{trial.cell.label}, repeat {trial.repeat}",
        )

    def step(self, done: int) -> None:
        self._bars.update(self._steps, completed=done)

    def end(self, row: TrialRow) -> None:
        self._bars.advance(self._trials)
        if row.status != "ok":
            self.say(f"{self._bars.tasks[1].description}: {row.status}: {row.error or ''}")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()


def describe(trial: Trial, row: TrialRow) -> str:
    """Return a trial's outcome in one line."""
    what = f"{trial.cell.label}, repeat {trial.repeat}"
    if row.status == "diverged":
        return f"{what}: diverged after {row.steps} steps"
    if row.status != "ok":
        return f"{what}: {row.status}: {row.error}"
    timed = row.steps - trial.cell.warmup
    return f"{what}: ok, {format_seconds(row.seconds / timed)} a step"
