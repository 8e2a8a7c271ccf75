"""Carries out the commands of a strategy with real gradients and real bytes, and times them."""

import math
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from psbench.live.collective import Collective, collective_for
from psbench.live.computing import ComputeThread, Computing, Pace
from psbench.live.counters import Counters
from psbench.live.ddp import ddp_over
from psbench.live.headers import Header
from psbench.live.messages import End
from psbench.live.parameter_client import Asked, Exchange, ParameterClient
from psbench.live.transports import Transport, guarded
from psbench.network import ComputeTime
from psbench.strategies import (
    AllReduce,
    Apply,
    Command,
    Compute,
    ComputeByDdp,
    Pull,
    Push,
    Ready,
    Shard,
    Span,
    Step,
    Wait,
)
from psbench.training import Learner, Progress

COLLECTIVES = 0
"""The channel of all-reduces."""

WIRE_DTYPES: dict[str, torch.dtype] = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass
class StepTimes:
    """What a step took, as it goes on. `*_s` as in results.StepRow."""

    begin_s: float
    samples: int = 0
    compute_s: float = 0.0
    enters: list[float] = field(default_factory=list)
    """when each synchronisation of the step began"""
    exits: list[float] = field(default_factory=list)
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
        self._buckets: dict[Span, Tensor] = {}
        self._collectives: dict[Span, Collective] = {}
        self._beside: ComputeThread | None = None
        self._distributed = False
        self._clients: dict[Shard, ParameterClient] = {}
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
            case Compute(overlap=True):
                return self._compute_beside(command, step)
            case Compute() | ComputeByDdp():
                times.samples += self._compute(command, step)
                times.compute_s += time.monotonic() - started
            case Ready(handle=Computing() as computing, bucket=bucket):
                computing.wait_for(bucket.start)
            case Apply():
                self._learner.apply()
                times.update_s += time.monotonic() - started
            case Push(shard=shard):
                times.enters.append(started)
                return self._client(shard).push()
            case Pull(shard=shard):
                times.enters.append(started)
                return self._client(shard).pull()
            case AllReduce():
                # done when it has begun, as far as the strategy can tell: this thread has nothing
                # else to do
                times.enters.append(started)
                self._all_reduce(command, step)
                times.exits.append(time.monotonic())
            case Wait(handle=handle):
                self._finish(handle, times)
        return None

    def _compute(self, command: Compute | ComputeByDdp, step: int) -> int:
        pace = self._pace(step, command.parts)
        if isinstance(command, ComputeByDdp):
            return self._compute_by_ddp(command, step, pace)
        samples = self._learner.compute(
            step, reduce=command.reduce, part=command.part, parts=command.parts
        )
        if pace is not None:
            pace.keep(0)
        return samples

    def _compute_by_ddp(self, command: ComputeByDdp, step: int, pace: Pace | None) -> int:
        if not self._distributed:
            nbytes = None
            if command.bucket is not None:
                nbytes = command.bucket * self._learner.gradients.itemsize
            wrap = ddp_over(self._transport, bucket_nbytes=nbytes)
            self._learner.distribute(wrap, self._world)
            self._distributed = True
            self.counters.hide()
        return guarded(
            lambda: self._learner.compute(
                step,
                reduce=command.reduce,
                part=command.part,
                parts=command.parts,
                progress=None if pace is None else pace.keep,
            ),
            f"summing with any of {', '.join(self._transport.peers)}",
        )

    def _compute_beside(self, command: Compute, step: int) -> Computing:
        """Start computing, in a thread beside this one."""
        if self._beside is None:
            self._beside = ComputeThread()

        def compute(progress: Progress) -> int:
            return self._learner.compute(
                step,
                reduce=command.reduce,
                part=command.part,
                parts=command.parts,
                progress=progress,
            )

        return self._beside.start(compute, self._pace(step, command.parts))

    def _pace(self, step: int, parts: int) -> Pace | None:
        """Return the pace of a part of computing, where the spec says how long that takes."""
        if self._compute_time is None:
            return None
        seconds = self._compute_time.draw(self._transport.rank, step) / parts
        return Pace(seconds, self._learner.gradients.numel())

    def _finish(self, handle: object, times: StepTimes) -> None:
        match handle:
            case Asked():
                _take_up(handle.finish(), times)
                times.exits.append(time.monotonic())
            case Computing():
                handle.finish()
                times.samples += handle.samples
                times.compute_s += handle.ended_s - handle.begun_s

    def close(self) -> None:
        """End the thread that computes beside, where there is one. Idempotent."""
        if self._beside is not None:
            self._beside.close()

    def _all_reduce(self, command: AllReduce, step: int) -> None:
        """Sum a bucket of the gradients over all ranks."""
        bucket = command.bucket
        if bucket not in self._buckets:
            self._buckets[bucket] = self._learner.gradients[bucket.start : bucket.stop]
        vector = self._buckets[bucket]
        if command.schedule is None:
            self._transport.native_all_reduce(vector, self._world)
            self.counters.hide()
            return
        if bucket not in self._collectives:
            self._collectives[bucket] = collective_for(
                self._transport,
                command.schedule,
                numel=len(vector),
                channel=COLLECTIVES,
                wire=WIRE_DTYPES[command.wire_dtype] if command.wire_dtype else None,
            )
        header = Header.describing(vector, generation=self._generation, step=step)
        self._collectives[bucket].run(vector, header, self.counters)

    def _client(self, shard: Shard) -> ParameterClient:
        if shard not in self._clients:
            own = slice(shard.span.start, shard.span.stop)
            self._clients[shard] = ParameterClient(
                self._transport,
                server=self._world + shard.server,
                shard=shard.span.index,
                gradients=self._learner.gradients[own],
                parameters=self._learner.parameters[own],
                generation=self._generation,
                counters=self.counters,
            )
        return self._clients[shard]


def _take_up(exchange: Exchange, times: StepTimes) -> None:
    answer = exchange.answer
    times.server_update_s += answer.update_ns * 1e-9
    if not exchange.queue_s <= times.queue_s:  # NaN until the first
        times.queue_s = exchange.queue_s
    times.pulled_version = exchange.pulled_version
    times.version = answer.version
    times.staleness = max(times.staleness, answer.staleness)
    times.end = End(answer.end)
