"""A worker in virtual time that goes through servers: it carries a strategy's commands out."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from psbench.parameter_server import Push as PushOfCore
from psbench.results import StepRow
from psbench.simulated.costs import Costs
from psbench.simulated.events import EventQueue, Message, Wire
from psbench.simulated.served.handles import Computing, Served
from psbench.simulated.served.letters import Answer, Kind, Request
from psbench.simulated.served.notes import Notes
from psbench.simulated.vectors import RankVectors
from psbench.spec import Cell
from psbench.strategies import Command, Compute, Push, Ready, Shard, Strategy, Wait
from psbench.trial import End


class VirtualWorker:
    """A rank from its first step until the servers say that the trial is over."""

    def __init__(
        self,
        rank: int,
        cell: Cell,
        strategy: Strategy,
        vectors: RankVectors,
        costs: Costs,
        *,
        numel: int,
        itemsize: int,
        queue: EventQueue,
        wire: Wire,
        heard: Sequence[Callable[[Message], object]],
        finished: Callable[[StepRow], object],
    ) -> None:
        """`heard` takes a request at each server, `finished` the row of a step."""
        self.rank = rank
        self.pushes_sent = 0
        self.pushes_answered = 0
        self.moved = [0, 0, 0, 0]
        """bytes sent and received, messages sent and received"""
        self.left = False
        self._cell = cell
        self._first_server = cell.workers
        self._strategy = strategy
        self._vectors = vectors
        self._costs = costs
        self._numel = numel
        self._itemsize = itemsize
        self._queue = queue
        self._wire = wire
        self._heard = heard
        self._finished = finished
        self._served: dict[tuple[int, int], Served] = {}
        self._waits_for: Served | None = None
        self._step = 0
        self._commands: Generator[Command, object, None] = strategy.step(0)
        self._notes = Notes(0.0)

    def open(self, shard: Shard, parameters: Any) -> None:
        """Take a shard's initial parameters, before the first step."""
        nbytes = (shard.span.stop - shard.span.start) * self._itemsize
        node, heard = self._first_server + shard.server, self._heard[shard.server]
        self._served[shard.server, shard.span.index] = Served(shard, node, nbytes, heard)
        self._vectors.take(shard.span, parameters)

    def begin(self) -> None:
        """Make the first step now."""
        self._notes = Notes(self._queue.now)
        self._go_on(None)

    def _go_on(self, handle: object) -> None:
        """Carry out commands, the last of which is answered by `handle`, until one takes time."""
        send = self._commands.send
        while True:
            try:
                command = send(handle)
            except StopIteration:
                self._end_step()
                return
            if isinstance(command, Push):
                handle = self._push(command.shard)
            elif isinstance(command, Wait):
                if not self._waited(command.handle):
                    return
                handle = None
            elif isinstance(command, Compute):
                if not command.overlap:
                    seconds = self._compute(command)
                    self._queue.at(self._queue.now + seconds, self._go_on, None)
                    return
                handle = self._start(command)
            elif isinstance(command, Ready):
                computing = command.handle
                assert isinstance(computing, Computing)
                share = self._costs.known_after(command.bucket.start, self._numel)
                if not self._passed(computing.begun_s + computing.seconds * share):
                    return
                handle = None
            else:
                self._vectors.update(command)
                self._notes.update_s += self._costs.update
                if not self._passed(self._queue.now + self._costs.update):
                    return
                handle = None

    def _passed(self, moment: float) -> bool:
        """Say whether a moment is over; if not, go on then."""
        if moment <= self._queue.now:
            return True
        self._queue.at(moment, self._go_on, None)
        return False

    def _compute(self, command: Compute) -> float:
        self._notes.samples += self._vectors.compute(command, self._step)
        seconds = self._costs.compute(self.rank, self._step, command.parts)
        self._notes.compute_s += seconds
        return seconds

    def _start(self, command: Compute) -> Computing:
        samples = self._vectors.compute(command, self._step)
        seconds = self._costs.compute(self.rank, self._step, command.parts)
        return Computing(self._queue.now, seconds, samples)

    def _push(self, shard: Shard) -> Served:
        index = shard.span.index
        served = self._served[shard.server, index]
        served.seq += 1
        served.answer = None
        push = PushOfCore(self.rank, served.seq, served.pulled_version)
        vector = self._vectors.gradients(shard.span)
        request = Request(Kind.PUSH, self.rank, index, push, vector)
        self._wire.send(Message(self.rank, served.node, served.nbytes, request, served.heard))
        self.pushes_sent += 1
        self._notes.pushed(self._queue.now, served.nbytes)
        return served

    def take(self, message: Message) -> None:
        """Take an answer that has come."""
        answer: Answer = message.content
        served = self._served[message.src - self._first_server, answer.shard]
        served.answer, served.came_s = answer, self._queue.now
        if self._waits_for is served:
            self._waits_for = None
            self._took(served, answer)
            self._go_on(None)

    def _waited(self, handle: object) -> bool:
        """Take what a handle stands for, if it has come; if not, go on once it has."""
        if isinstance(handle, Served):
            if handle.answer is None:
                self._waits_for = handle
                return False
            self._took(handle, handle.answer)
            return True
        assert isinstance(handle, Computing)
        self._notes.samples += handle.samples
        self._notes.compute_s += handle.seconds
        return self._passed(handle.begun_s + handle.seconds)

    def _took(self, served: Served, answer: Answer) -> None:
        self._vectors.take(served.shard.span, answer.parameters)
        self._notes.take_up(answer, served)
        served.pulled_version = answer.version
        self.pushes_answered += 1

    def _end_step(self) -> None:
        self.moved = [a + b for a, b in zip(self.moved, self._notes.moved, strict=True)]
        self._finished(
            self._notes.row(
                rank=self.rank,
                step=self._step,
                warmup=self._step < self._cell.warmup,
                loss=self._vectors.loss(),
                end_s=self._queue.now,
            )
        )
        if self._notes.end is not End.GO_ON:
            self._leave()
            return
        self._step += 1
        self._commands = self._strategy.step(self._step)
        self._notes = Notes(self._queue.now)
        self._go_on(None)

    def _leave(self) -> None:
        """Tell all servers that this worker will not push again."""
        self.left = True
        for served in self._served.values():
            request = Request(Kind.LEAVE, self.rank, served.shard.span.index)
            self._wire.send(Message(self.rank, served.node, 0, request, served.heard))
