"""How far a trial is, as its server sees it: versions, timed part, end, copies for evaluation."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from psbench.parts import part_sizes
from psbench.spec import Cell
from psbench.trial.checkpoint import Checkpoint
from psbench.trial.clock import TrialClock
from psbench.trial.divergence import Divergence
from psbench.trial.end import End


class ServedTrial:
    """The state of a trial that ends by versions; `versions_per_step` of them make one step, or
    `every` steps where a worker pushes but so often. `now` reads the clock, in seconds."""

    def __init__(
        self,
        cell: Cell,
        *,
        versions_per_step: int,
        every: int = 1,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cell = cell
        self._now = now
        self._per_step = versions_per_step
        self._every = every
        self._warmup, self._last = (
            steps * versions_per_step // every for steps in (cell.warmup, cell.steps)
        )
        self._slices = part_sizes(cell.global_batch, cell.workers).tolist()
        self._divergence = Divergence()
        self.clock = TrialClock()
        self.end = End.GO_ON
        self.samples = 0
        self._version = 0  # the last that is part of the trial
        self._trained = 0
        self.checkpoints: list[Checkpoint] = []

    def begin(self) -> None:
        """The first step is about to start on all workers."""
        if self._cell.warmup == 0:
            self.clock.start(self._now())

    def on_version(self, version: int, workers: Iterable[int], loss: float | None) -> None:
        """A version was made of pushes of `workers`; `loss` is theirs, None where there is none.

        Afterwards `end` is what the answers of this version say.
        """
        if self.end is not End.GO_ON:
            return  # pushes that were under way: applied, but no part of what is measured
        self._version = version
        samples = sum(self._slices[worker] for worker in workers) * self._every
        self._trained += samples
        if version > self._warmup:
            self.samples += samples
        if version == self._warmup:
            self.clock.start(self._now())
        if loss is not None and self._divergence.seen_in(loss):
            self.end = End.DIVERGED
        elif version == self._last:
            self.end = End.FINISHED
        if self.end is not End.GO_ON:
            self.clock.stop(self._now())

    @property
    def steps(self) -> int:
        """Steps of all workers that are part of the trial."""
        return self._version * self._every // self._per_step

    def evaluation_due(self, version: int) -> bool:
        """Say whether the parameters of `version`, the last one made, are to be evaluated."""
        if version > self._version:
            return False
        step, rest = divmod(version * self._every, self._per_step)
        every = self._cell.eval_every
        due = step == self._cell.steps or (every is not None and step % every == 0)
        return due and not rest and self.end is not End.DIVERGED

    def keep(self, version: int, parameters: Any) -> None:
        """Note the parameters of `version` for evaluation; they must not change from now on."""
        self.checkpoints.append(
            Checkpoint(
                step=version * self._every // self._per_step,
                samples=self._trained,
                seconds=self.clock.seconds(self._now()),
                parameters=parameters,
            )
        )
