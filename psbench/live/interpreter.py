"""Carries out the commands of a strategy with real gradients and real bytes, and times them."""

import math
import time
from dataclasses import dataclass

from psbench.live.collective import Collective, collective_for
from psbench.live.counters import Counters
from psbench.live.headers import Header
from psbench.live.messages import End
from psbench.live.parameter_client import Asked, Exchange, ParameterClient
from psbench.live.transports import Transport
from psbench.network import ComputeTime
from psbench.strategies import AllReduce, Apply, Command, Compute, Pull, Push, Span, Step, Wait
from psbench.training import Learner

COLLECTIVES = 0
"""The channel of all-reduces."""


@dataclass
class StepTimes:
    """What a step took, as it goes on. `*_s` as in results.StepRow."""

    begin_s: float
    samples: int = 0
    compute_s: float = 0.0
    enter_s: float | None = None
    exit_s: float = 0.0
    update_s: float = 0.0
    server_update_s: float = 0.0
    queue_s: float = math.nan
    pulled_version: int = -1
    version: int = -1
    staleness: int = -1
    end: End = End.GO_ON


class Interpreter:
    """One rank's hands: the learner, the transport, and the clients of the servers."""

    def __init__(
        self,
        learner: Learner,
        transport: Transport,
        *,
        world: int,
        generation: int,
        compute_time: ComputeTime | None = None,
    ) -> None:
        self._learner = learner
        self._compute_time = compute_time
        self._transport = transport
        self._world = world
        self._generation = generation
        self._collectives: dict[Span, Collective] = {}
        self._clients: dict[Span, ParameterClient] = {}
        self.counters = Counters()

    @property
    def clients(self) -> list[ParameterClient]:
        """The clients of the servers talked to so far."""
        return list(self._clients.values())

    def run(self, commands: Step, step: int) -> StepTimes:
        """Carry out all commands of a step."""
        times = StepTimes(begin_s=time.monotonic())
        command = next(commands, None)
        while command is not None:
            handle = self._carry_out(command, step, times)
            try:
                command = commands.send(handle)
            except StopIteration:
                command = None
        return times

    def _carry_out(self, command: Command, step: int, times: StepTimes) -> object:
        started = time.monotonic()
        match command:
            case Compute():
                times.samples += self._learner.compute(
                    step, reduce=command.reduce, part=command.part, parts=command.parts
                )
                self._pad(step, started, command.parts)
                times.compute_s += time.monotonic() - started
            case Apply():
                self._learner.apply()
                times.update_s += time.monotonic() - started
            case Wait(handle=handle):
                self._finish(handle, times)
            case AllReduce() | Push() | Pull():
                if times.enter_s is None:
                    times.enter_s = started
                return self._start(command, step)
        return None

    def _pad(self, step: int, started: float, parts: int) -> None:
        """Sleep what is left of the time that the spec says a part of computing takes."""
        if self._compute_time is not None:
            seconds = self._compute_time.draw(self._transport.rank, step) / parts
            time.sleep(max(0.0, started + seconds - time.monotonic()))

    def _start(self, command: AllReduce | Push | Pull, step: int) -> object:
        match command:
            case Push(shard=shard):
                return self._client(shard).push()
            case Pull(shard=shard):
                return self._client(shard).pull()
            case AllReduce():
                return Summing(self, command, step)

    def _finish(self, handle: object, times: StepTimes) -> None:
        match handle:
            case Asked():
                _take_up(handle.finish(), times)
            case Summing():
                handle.finish()
        times.exit_s = time.monotonic()

    def all_reduce(self, command: AllReduce, step: int) -> None:
        """Sum a bucket of the gradients over all ranks."""
        bucket = command.bucket
        vector = self._learner.gradients[bucket.start : bucket.stop]
        if command.schedule is None:
            self._transport.native_all_reduce(vector, self._world)
            self.counters.hide()
            return
        if bucket not in self._collectives:
            self._collectives[bucket] = collective_for(
                self._transport, command.schedule, numel=len(vector), channel=COLLECTIVES
            )
        header = Header.describing(vector, generation=self._generation, step=step)
        self._collectives[bucket].run(vector, header, self.counters)

    def _client(self, shard: Span) -> ParameterClient:
        if shard not in self._clients:
            self._clients[shard] = ParameterClient(
                self._transport,
                server=self._world + shard.index,
                gradients=self._learner.gradients[shard.start : shard.stop],
                parameters=self._learner.parameters[shard.start : shard.stop],
                generation=self._generation,
                counters=self.counters,
            )
        return self._clients[shard]


@dataclass(frozen=True)
class Summing:
    """The handle of an all-reduce. It is carried out where it is waited for: until strategies
    overlap it with computing, nothing lies between the two."""

    interpreter: Interpreter
    command: AllReduce
    step: int

    def finish(self) -> None:
        """Carry it out."""
        self.interpreter.all_reduce(self.command, self.step)


def _take_up(exchange: Exchange, times: StepTimes) -> None:
    answer = exchange.answer
    times.server_update_s = max(times.server_update_s, answer.update_ns * 1e-9)
    times.queue_s = exchange.queue_s
    times.pulled_version = exchange.pulled_version
    times.version = answer.version
    times.staleness = max(times.staleness, answer.staleness)
    times.end = End(answer.end)
