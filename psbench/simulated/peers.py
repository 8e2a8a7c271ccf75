"""A trial in virtual time whose ranks agree among themselves, or not at all.

A strategy's commands depend on no rank. So one generator is carried out for all ranks at once, with
an array of their clocks.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from psbench.network import Topology
from psbench.results import StepRow, TrialStatus
from psbench.schedules import traffic
from psbench.simulated.collective import (
    Collective,
    Occupied,
    Outcome,
    simulate,
    simulate_in_network,
)
from psbench.simulated.costs import Costs, FloatArray
from psbench.simulated.ending import Ending
from psbench.simulated.moved import Moved
from psbench.simulated.vectors import Vectors
from psbench.strategies import AllReduce, Command, Compute, Ready, Span, Step, Wait
from psbench.trial import Checkpoint, Divergence, Plan

_WIRE_BYTES = {"bf16": 2, "fp16": 2}


@dataclass(eq=False)
class _Computing:
    """A backward pass under way: when it began on each rank, and how long it takes."""

    begins: FloatArray
    seconds: FloatArray


@dataclass(eq=False)
class _Asked:
    """A bucket's sum: when each rank was ready for it, began it, and was done with it."""

    command: AllReduce
    ready: FloatArray
    starts: FloatArray | None = None
    finishes: FloatArray | None = None


@dataclass(eq=False)
class _Notes:
    """What a step took on each rank; arrays of shape (world,)."""

    begins: FloatArray
    computed: FloatArray
    updated: FloatArray
    samples: list[int]
    sums: list[_Asked] = field(default_factory=list)


class Peers:
    """The ranks of a trial, from its first step to its last."""

    def __init__(self, plan: Plan, vectors: Vectors, topology: Topology) -> None:
        self._cell = plan.trial.cell
        self._vectors = vectors
        self._topology = topology
        self._strategy = plan.strategy(vectors.numel, vectors.itemsize)
        self._costs = Costs(plan, topology, vectors.numel * vectors.itemsize)
        world = self._cell.workers
        self._now = np.zeros(world)
        self._occupied: Occupied | None = None
        self._moved: dict[Span, Moved] = {}
        self._total = Moved.none(world)
        self._divergences = [Divergence() for _ in range(world)]
        self._status: list[TrialStatus | None] = [None] * world
        self._steps = [0] * world
        self._samples = [0] * world
        self._clock_start = 0.0
        self._seconds = [0.0] * world
        self._checkpoints: list[Checkpoint] = []

    def run(self) -> Iterator[list[StepRow]]:
        """Yield the rows of all ranks, a step at a time."""
        self._carry_out_all(self._strategy.start(), 0, self._notes())
        self._now[:] = 0.0  # what comes before the first step is not timed
        for step in range(self._cell.steps):
            if step == self._cell.warmup:
                self._now[:] = self._clock_start = float(self._now.max())
            ranks = [rank for rank, status in enumerate(self._status) if status is None]
            if not ranks:
                return
            notes = self._notes()
            moved = self._carry_out_all(self._strategy.step(step), step, notes)
            yield [self._row(rank, step, notes, moved) for rank in ranks]
            for rank in ranks:
                self._end_step(rank, step, notes.samples[rank])
            self._copy(step + 1)

    def ending(self) -> Ending:
        """Return how it went, once all steps have been yielded."""
        return Ending(
            status="diverged" if "diverged" in self._status else "ok",
            steps=min(self._steps),
            samples=sum(self._samples),
            seconds=max(self._seconds),
            checkpoints=self._checkpoints,
            fields=self._total.columns(),
        )

    def _notes(self) -> _Notes:
        world = len(self._now)
        return _Notes(self._now.copy(), np.zeros(world), np.zeros(world), [0] * world)

    def _carry_out_all(self, commands: Step, step: int, notes: _Notes) -> Moved:
        """Carry out the commands of a step on all ranks; return what they sent and received."""
        handle: object = None
        while True:
            try:
                command = commands.send(handle)
            except StopIteration:
                break
            handle = self._carry_out(command, step, notes)
        self._sum(notes)
        moved = Moved.none(len(self._now))
        for one in notes.sums:
            moved += self._moved[one.command.bucket]
        self._total += moved
        return moved

    def _carry_out(self, command: Command, step: int, notes: _Notes) -> object:
        match command:
            case Compute():
                return self._compute(command, step, notes)
            case Ready(handle=_Computing() as computing, bucket=bucket):
                share = self._costs.known_after(bucket.start, self._vectors.numel)
                known = computing.begins + computing.seconds * share
                np.maximum(self._now, known, out=self._now)
            case AllReduce():
                asked = _Asked(command, ready=self._now.copy())
                notes.sums.append(asked)
                return asked
            case Wait(handle=_Computing() as computing):
                np.maximum(self._now, computing.begins + computing.seconds, out=self._now)
            case Wait(handle=_Asked() as asked):
                if asked.finishes is None:
                    self._sum(notes)
                assert asked.finishes is not None
                np.maximum(self._now, asked.finishes, out=self._now)
            case _:
                self._update(command, notes)
        return None

    def _compute(self, command: Compute, step: int, notes: _Notes) -> _Computing | None:
        seconds = self._costs.compute_all(step, command.parts)
        notes.computed += seconds
        for rank, own in enumerate(self._vectors.ranks):
            if self._status[rank] is None:
                notes.samples[rank] += own.compute(command, step)
        if command.overlap:
            return _Computing(self._now.copy(), seconds)
        self._now += seconds
        return None

    def _update(self, command: Command, notes: _Notes) -> None:
        for rank, own in enumerate(self._vectors.ranks):
            if self._status[rank] is None:
                own.update(command)
        notes.updated += self._costs.update
        self._now += self._costs.update

    def _sum(self, notes: _Notes) -> None:
        """Sum what was asked for and has not been summed, one bucket after the other."""
        asked = [one for one in notes.sums if one.finishes is None]
        if not asked:
            return
        outcome = self._simulated(asked)
        self._occupied = outcome.occupied
        for number, one in enumerate(asked):
            self._vectors.sum(one.command)
            one.starts, one.finishes = outcome.starts[number], outcome.finishes[number]
            if one.command.bucket not in self._moved:
                self._moved[one.command.bucket] = self._moves(one.command)

    def _simulated(self, asked: Sequence[_Asked]) -> Outcome:
        if asked[0].command.schedule is None:
            return simulate_in_network(
                [_numel(one.command) * self._itemsize(one.command) for one in asked],
                np.array([one.ready for one in asked]),
                self._topology,
                occupied=self._occupied,
            )
        collectives = [
            Collective(
                schedule=one.command.schedule,
                numel=_numel(one.command),
                itemsize=self._itemsize(one.command),
                starts=one.ready,
            )
            for one in asked
            if one.command.schedule is not None
        ]
        return simulate(collectives, self._topology, occupied=self._occupied)

    def _itemsize(self, command: AllReduce) -> int:
        wire = command.wire_dtype
        return _WIRE_BYTES[wire] if wire else self._vectors.itemsize

    def _moves(self, command: AllReduce) -> Moved:
        """Return what each rank sends and receives of a bucket."""
        numel, itemsize = _numel(command), self._itemsize(command)
        if command.schedule is None:
            return Moved.each(len(self._now), messages=1, nbytes=numel * itemsize)
        own = traffic(command.schedule, numel, itemsize)
        assert own.bytes_sent is not None
        assert own.bytes_received is not None
        return Moved(
            np.stack([own.bytes_sent, own.bytes_received, own.messages_sent, own.messages_received])
        )

    def _row(self, rank: int, step: int, notes: _Notes, moved: Moved) -> StepRow:
        begin, computed = float(notes.begins[rank]), float(notes.computed[rank])
        enters = [float(one.starts[rank]) for one in notes.sums if one.starts is not None]
        exits = [float(one.finishes[rank]) for one in notes.sums if one.finishes is not None]
        # where nothing is synchronised, the moment after computing stands for it
        moment = begin + computed
        sent, received, messages_sent, messages_received = moved.counts[:, rank].tolist()
        return StepRow(
            rank=rank,
            step=step,
            samples=notes.samples[rank],
            warmup=step < self._cell.warmup,
            loss=self._vectors.ranks[rank].loss(),
            begin_s=begin,
            compute_s=computed,
            enter_s=enters[0] if enters else moment,
            exit_s=exits[-1] if exits else moment,
            update_s=float(notes.updated[rank]),
            server_update_s=0.0,
            queue_s=math.nan,
            end_s=float(self._now[rank]),
            pulled_version=-1,
            version=-1,
            staleness=-1,
            bytes_sent=sent,
            bytes_received=received,
            messages_sent=messages_sent,
            messages_received=messages_received,
            enters=tuple(enters) if len(enters) > 1 else (),
            exits=tuple(exits) if len(exits) > 1 else (),
        )

    def _end_step(self, rank: int, step: int, samples: int) -> None:
        """Count a rank's step, and see whether the trial ends for it."""
        self._steps[rank] += 1
        if step >= self._cell.warmup:
            self._samples[rank] += samples
            self._seconds[rank] = float(self._now[rank]) - self._clock_start
        if not self._strategy.agrees(step):
            return
        loss = self._vectors.ranks[rank].loss()
        if self._vectors.carries_loss and self._divergences[rank].seen_in(loss):
            self._status[rank] = "diverged"
        elif step + 1 == self._cell.steps:
            self._status[rank] = "ok"

    def _copy(self, done: int) -> None:
        """Copy what the first rank has for evaluation, where that is due."""
        every, last = self._cell.eval_every, done == self._cell.steps
        due = last or (every is not None and done % every == 0)
        alive = self._status[0] != "diverged" and self._strategy.agrees(done - 1)
        if due and alive and self._vectors.carries_loss:
            point = Checkpoint(
                step=done,
                samples=done * self._cell.global_batch,
                seconds=self._seconds[0],
                parameters=self._vectors.ranks[0].agreed(),
            )
            self._checkpoints.append(point)


def _numel(command: AllReduce) -> int:
    return command.bucket.stop - command.bucket.start
