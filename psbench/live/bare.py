"""The strategy `bare` in a process: a plain PyTorch loop between two readings of the clock."""

from psbench.live.counters import Counters
from psbench.live.device import Device
from psbench.live.job import OK, Job, Report
from psbench.training import Learner, bare_loop, build_learner
from psbench.trial import Checkpoint


class BareWorker:
    """The one process of a trial of `bare`; `learner` evaluates what the loop has learned."""

    def __init__(self, job: Job) -> None:
        trial = job.trial
        self._trial = trial
        self._device = Device.of(trial.cell)
        self.learner: Learner = build_learner(
            trial.cell, seed=trial.seed, repeat=trial.repeat, rank=0, allocate=self._device.zeros
        )
        self.checkpoints: list[Checkpoint] = []

    def train(self) -> Report:
        """Run the loop. It counts and watches nothing, so it neither diverges nor has step rows."""
        cell = self._trial.cell
        seconds, parameters = bare_loop(
            cell, seed=self._trial.seed, repeat=self._trial.repeat, device=self._device.torch
        )
        self.learner.parameters[: len(parameters)].copy_(parameters)
        self.checkpoints.append(
            Checkpoint(
                step=cell.steps,
                samples=cell.steps * cell.global_batch,
                seconds=seconds,
                parameters=self.learner.parameters,
            )
        )
        return Report(
            status=OK,
            steps=cell.steps,
            samples=(cell.steps - cell.warmup) * cell.global_batch,
            seconds=seconds,
            counters=Counters(),
            pushes=None,
        )
