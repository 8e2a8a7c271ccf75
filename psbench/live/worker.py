"""The training loop of one rank. It knows no strategy: it carries out whatever commands come."""

import time
from itertools import count

from psbench.live.computing import Paces
from psbench.live.counters import Counters
from psbench.live.device import Device
from psbench.live.interpreter import Interpreter
from psbench.live.job import DIVERGED, OK, Job, Report, StepLog
from psbench.live.step_times import StepTimes
from psbench.live.transports import Transport
from psbench.results import StepRow, TrialStatus
from psbench.training import Learner, build_learner
from psbench.trial import Checkpoint, Divergence, End, TrialClock

_ENDS: dict[End, TrialStatus] = {End.FINISHED: OK, End.DIVERGED: DIVERGED}


class Worker:
    """A rank for one trial: `train` runs it, then `learner` and `checkpoints` can be looked at."""

    def __init__(self, job: Job, transport: Transport, log: StepLog[StepRow]) -> None:
        trial = job.trial
        self.cell = trial.cell
        device = Device.of(self.cell)
        self.learner: Learner = build_learner(
            trial.cell,
            seed=trial.seed,
            repeat=trial.repeat,
            rank=transport.rank,
            allocate=transport.allocate if device.is_cpu else device.zeros,
        )
        self.checkpoints: list[Checkpoint] = []
        numel = self.learner.gradients.numel()
        self._strategy = job.plan.strategy(numel, self.learner.gradients.itemsize)
        self._interpreter = Interpreter(
            self.learner,
            transport,
            world=self.cell.workers,
            generation=job.generation,
            first_seq=job.first_step,
            paces=Paces.of(job.plan, numel),
            device=device,
        )
        self._first_step = job.first_step
        self._transport = transport
        self._log = log
        self._clock = TrialClock()
        self._divergence = Divergence()

    def train(self) -> Report:
        """Run the trial to its end. Raises TransportError where a peer fails."""
        try:
            return self._train()
        finally:
            self._interpreter.close()

    def _train(self) -> Report:
        self._interpreter.run(self._strategy.start(), 0)
        self._transport.barrier()
        opening = self._interpreter.counters.copy()
        status: TrialStatus = OK
        steps = samples = 0
        for step in count(self._first_step):
            if step == max(self.cell.warmup, self._first_step):
                self._start_clock()
            times = self._one_step(step)
            steps += 1
            samples += times.samples if step >= self.cell.warmup else 0
            ended = self._ended(step, times)
            if ended is not None:
                status = ended
                break
        if self._first_step + steps <= self.cell.warmup:
            self._start_clock()  # it ended before that: others may wait for it there
        self._clock.stop(time.monotonic())
        for client in self._interpreter.clients:
            client.leave()
        moved = self._interpreter.counters.since(opening)
        return self._report(status, steps, samples, moved)

    def _start_clock(self) -> None:
        """Begin the timed part on all ranks at once: alone, each would have warmed up by itself."""
        if not self._strategy.served:
            self._transport.barrier()
        self._clock.start(time.monotonic())

    def _one_step(self, step: int) -> StepTimes:
        before = self._interpreter.counters.copy()
        times = self._interpreter.run(self._strategy.step(step), step)
        end_s = time.monotonic()
        self._log.append(self._row(step, times, end_s, before))
        return times

    def _ended(self, step: int, times: StepTimes) -> TrialStatus | None:
        """Say how the trial ends with this step, if it does; copy the parameters where due."""
        if self._strategy.served:
            return _ENDS.get(times.end)
        if not self._strategy.agrees(step):
            return None
        if self.learner.carried and self._divergence.seen_in(self.learner.loss()):
            return DIVERGED
        last = step + 1 == self.cell.steps
        if self.learner.carried and (last or self._due(step + 1)):
            self._copy(step + 1)
        return OK if last else None

    def _due(self, done: int) -> bool:
        return self.cell.eval_every is not None and done % self.cell.eval_every == 0

    def _copy(self, done: int) -> None:
        """Copy the parameters, on all ranks alike, so that none waits for one that copies; the
        first rank's copy is kept."""
        started = time.monotonic()
        point = Checkpoint(
            step=done,
            samples=done * self.cell.global_batch,
            seconds=self._clock.seconds(started),
            parameters=self._interpreter.agreed.to("cpu", copy=True),
        )
        if self._transport.rank == 0:
            self.checkpoints.append(point)
        self._clock.pause(time.monotonic() - started)

    def _row(self, step: int, times: StepTimes, end_s: float, before: Counters) -> StepRow:
        moved = self._interpreter.counters.since(before)
        # where nothing is synchronised, the moment after computing stands for it
        moment = times.begin_s + times.compute_s
        enters, exits = times.enters, times.exits
        return StepRow(
            rank=self._transport.rank,
            step=step,
            samples=times.samples,
            warmup=step < self.cell.warmup,
            loss=self.learner.loss(),
            begin_s=times.begin_s,
            compute_s=times.compute_s,
            enter_s=enters[0] if enters else moment,
            exit_s=exits[-1] if exits else moment,
            enters=tuple(enters) if len(enters) > 1 else (),
            exits=tuple(exits) if len(exits) > 1 else (),
            sents=tuple(times.sents),
            turns=tuple(times.turns),
            update_begins=tuple(times.update_begins),
            update_ends=tuple(times.update_ends),
            update_s=times.update_s,
            server_update_s=times.server_update_s,
            queue_s=times.queue_s,
            end_s=end_s,
            pulled_version=times.pulled_version,
            version=times.version,
            staleness=times.staleness,
            held_s=times.held_s,
            dropped=times.dropped,
            version_spread=times.version_spread,
            bytes_sent=moved.bytes_sent,
            bytes_received=moved.bytes_received,
            messages_sent=moved.messages_sent,
            messages_received=moved.messages_received,
        )

    def _report(self, status: TrialStatus, steps: int, samples: int, counters: Counters) -> Report:
        clients = self._interpreter.clients
        served = self._strategy.served
        return Report(
            status=status,
            steps=steps,
            samples=samples,
            seconds=self._clock.seconds(time.monotonic()),
            counters=counters,
            pushes=sum(client.pushes_answered for client in clients) if served else None,
            pushes_sent=sum(client.pushes_sent for client in clients) if served else None,
        )
