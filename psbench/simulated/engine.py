"""The engine in virtual time: the very strategies, schedules and server rules, without processes.

What takes time is drawn, or follows from the network that the spec names; no clock is read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self

from psbench.results import EngineOutput
from psbench.simulated.run_trial import run_trial
from psbench.spec import Cell, ModelTask, NetworkFile, Trial
from psbench.trial import Plan


class SimulatedEngine:
    """Runs the trials of `cells`, each from its cell alone: the same anywhere, but for real
    gradients, whose last bits are the processor's.

    Raises SpecError on entering where a user's own task is wrong, or a network's file.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self.threads = max(cell.cpus_per_process for cell in cells)

    @property
    def clock_uncertainty_s(self) -> float:
        return 0.0

    @property
    def networks(self) -> Mapping[str, NetworkFile]:
        return {}

    @property
    def warnings(self) -> Sequence[str]:
        return ()

    def run(
        self, trial: Trial, *, cell_id: str, attempt: int, stop: Callable[[], bool]
    ) -> Iterator[EngineOutput]:
        """Yield a trial's steps as they finish, then its evaluations, then its one summary.

        A trial that fails ends in a summary that says why. Raises KeyboardInterrupt soon after
        `stop()` turns true, what was finished yielded before.
        """
        for output in run_trial(trial, cell_id=cell_id, attempt=attempt):
            yield output
            if stop():
                raise KeyboardInterrupt

    def __enter__(self) -> Self:
        for cell in self._cells:
            Plan(trial=Trial(cell=cell, repeat=0, seed=0)).topology()
        if any(isinstance(cell.task, ModelTask) for cell in self._cells):
            from psbench.simulated.learning import check_tasks  # imports torch

            check_tasks(self._cells)
        return self

    def __exit__(self, *_: object) -> None:
        return None
