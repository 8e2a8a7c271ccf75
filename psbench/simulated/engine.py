"""The engine in virtual time: the very strategies, schedules and server rules, without processes.

What takes time is drawn, or follows from the network that the spec names; no clock is read.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from typing import Self

from psbench.errors import TrialError
from psbench.results import EngineOutput
from psbench.simulated.run_trial import failed_trial, run_trial
from psbench.spec import Asked, Cell, ModelTask, NetworkFile, Trial
from psbench.trial import Plan

_AHEAD = 8  # trials that are simulated, or wait for that, before their rows are asked for
_POLL_SECONDS = 0.1


class SimulatedEngine:
    """Runs the trials of `cells`, each from its cell alone: the same anywhere, but for real
    gradients, whose last bits are the processor's.

    Raises SpecError on entering where a user's own task is wrong, or a network's file.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        executor_for: Callable[[int], Executor | None] = lambda trials: None,
    ) -> None:
        """`executor_for` returns what simulates so many trials side by side; None: one after the
        other, here."""
        self._cells = cells
        self._executor_for = executor_for
        self._executor: Executor | None = None
        self._expected: deque[Asked] = deque()
        self._under_way: dict[tuple[str, int, int], Future[list[EngineOutput]]] = {}
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

    def expect(self, asked: Sequence[Asked]) -> None:
        """Take note of the trials that will be run, in this order."""
        self._expected.extend(asked)
        self._executor = self._executor_for(len(asked))

    def run(
        self, trial: Trial, *, cell_id: str, attempt: int, stop: Callable[[], bool]
    ) -> Iterator[EngineOutput]:
        """Yield a trial's steps as they finish, then its evaluations, then its one summary.

        A trial that fails ends in a summary that says why. Raises KeyboardInterrupt soon after
        `stop()` turns true, what was finished yielded before.
        """
        self._submit()
        future = self._under_way.pop((cell_id, trial.repeat, attempt), None)
        if future is None:
            outputs: Iterator[EngineOutput] = run_trial(trial, cell_id=cell_id, attempt=attempt)
        else:
            outputs = iter(_result(future, trial, cell_id, attempt, stop))
        for output in outputs:
            yield output
            if stop():
                raise KeyboardInterrupt

    def _submit(self) -> None:
        """Have the next trials simulated, as many as are to be ahead."""
        while self._executor and self._expected and len(self._under_way) < _AHEAD:
            trial, cell_id, attempt = self._expected.popleft()
            future = self._executor.submit(whole_trial, trial, cell_id=cell_id, attempt=attempt)
            self._under_way[cell_id, trial.repeat, attempt] = future

    def __enter__(self) -> Self:
        for cell in self._cells:
            Plan(trial=Trial(cell=cell, repeat=0, seed=0)).topology()
        if any(isinstance(cell.task, ModelTask) for cell in self._cells):
            from psbench.simulated.learning import check_tasks  # imports torch

            check_tasks(self._cells)
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


def whole_trial(trial: Trial, *, cell_id: str, attempt: int) -> list[EngineOutput]:
    """Return all that `run_trial` yields."""
    return list(run_trial(trial, cell_id=cell_id, attempt=attempt))


def _result(
    future: Future[list[EngineOutput]],
    trial: Trial,
    cell_id: str,
    attempt: int,
    stop: Callable[[], bool],
) -> list[EngineOutput]:
    """Wait for a trial that is simulated elsewhere. Raises KeyboardInterrupt after `stop()`."""
    while not wait([future], timeout=_POLL_SECONDS).done:
        if stop():
            raise KeyboardInterrupt
    try:
        return future.result()
    except TrialError as error:
        return [failed_trial(trial, error, cell_id=cell_id, attempt=attempt)]
