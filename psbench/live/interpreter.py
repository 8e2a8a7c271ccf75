"""Carries out the commands of a strategy with real gradients and real bytes, and times them.

Where gradients are on a GPU, all times are still readings of the host's clock, each after the host
has waited for what it is about: computing, a bucket's sum with its copies to the host and back, an
answer with its copy to the device, the optimiser's step.
"""

import time
from typing import NamedTuple

from torch import Tensor

from psbench.live.collective import Collective, collective_for
from psbench.live.computing import ComputeThread, Computing, Pace, Paces
from psbench.live.counters import Counters
from psbench.live.ddp import ddp_over
from psbench.live.device import Device
from psbench.live.headers import Header
from psbench.live.parameter_client import Answers, Asked, ParameterClient
from psbench.live.staging import Carried, carried_by
from psbench.live.step_times import StepTimes
from psbench.live.transports import Transport, guarded
from psbench.schedules import Schedule
from psbench.strategies import (
    AllReduce,
    Apply,
    ApplyOuter,
    Approach,
    Command,
    Compute,
    ComputeByDdp,
    KeepCentre,
    Offer,
    OuterGradient,
    Pull,
    Push,
    Ready,
    Shard,
    Span,
    Step,
    Wait,
)
from psbench.training import WIRE_DTYPES, Learner, OwnVectors, Progress

COLLECTIVES = 0
"""The channel of all-reduces."""


class Served(NamedTuple):
    """A shard as a rank shares it with its server."""

    client: ParameterClient
    gradients: Carried
    parameters: Carried


class Awaited(NamedTuple):
    """A request under way, and where the parameters of its answer are to go."""

    asked: Asked
    parameters: Carried


class Interpreter:
    """One rank's hands: the learner, the transport, and the clients of the servers."""

    def __init__(
        self,
        learner: Learner,
        transport: Transport,
        *,
        world: int,
        generation: int,
        first_seq: int = 0,
        paces: Paces | None = None,
        device: Device,
    ) -> None:
        self._learner = learner
        self._own = OwnVectors(learner)
        self._paces = paces
        self._transport = transport
        self._world = world
        self._generation = generation
        self._first_seq = first_seq
        self._device = device
        self._buckets: dict[Span, Carried] = {}
        self._collectives: dict[Span, Collective] = {}
        self._beside: ComputeThread | None = None
        self._distributed = False
        self._shards: dict[Shard, Served] = {}
        self._answers: dict[int, Answers] = {}
        self.counters = Counters()

    @property
    def clients(self) -> list[ParameterClient]:
        """The clients of the servers talked to so far."""
        return [shard.client for shard in self._shards.values()]

    @property
    def agreed(self) -> Tensor:
        """The flat vector that the ranks have agreed on, where they have."""
        return self._own.agreed

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
            case Apply() | KeepCentre() | OuterGradient() | Offer() | ApplyOuter() | Approach():
                self._own.update(command)
                self._device.synchronize()
                times.update_s += time.monotonic() - started
            case Push(shard=shard):
                times.enters.append(started)
                served = self._served(shard)
                served.gradients.take_out()
                return Awaited(served.client.push(), served.parameters)
            case Pull(shard=shard):
                times.enters.append(started)
                served = self._served(shard)
                return Awaited(served.client.pull(), served.parameters)
            case AllReduce():
                # done when it has begun, as far as the strategy can tell: this thread has nothing
                # else to do
                times.enters.append(started)
                with self._device.communicating():
                    self._all_reduce(command, step)
                    self._device.synchronize()
                times.exits.append(time.monotonic())
            case Wait(handle=handle):
                self._finish(handle, times)
        return None

    def _compute(self, command: Compute | ComputeByDdp, step: int) -> int:
        pace = self._pace(step, command.parts)
        if isinstance(command, ComputeByDdp):
            return self._compute_by_ddp(command, step, pace)
        samples = self._learn(command, step)
        if pace is not None:
            pace.keep(0)
        return samples

    def _compute_by_ddp(self, command: ComputeByDdp, step: int, pace: Pace | None) -> int:
        if not self._distributed:
            nbytes = None
            if command.bucket is not None:
                nbytes = command.bucket * self._learner.gradients.itemsize
            wrap = ddp_over(self._transport, bucket_nbytes=nbytes, device=self._device.torch)
            self._learner.distribute(wrap, self._world)
            self._distributed = True
            self.counters.hide()
        progress = None if pace is None else pace.keep
        return guarded(
            lambda: self._learn(command, step, progress),
            f"summing with any of {', '.join(self._transport.peers)}",
        )

    def _compute_beside(self, command: Compute, step: int) -> Computing:
        """Start computing, in a thread beside this one."""
        if self._beside is None:
            self._beside = ComputeThread(self._device)
        return self._beside.start(
            lambda progress: self._learn(command, step, progress),
            self._pace(step, command.parts),
        )

    def _learn(
        self, command: Compute | ComputeByDdp, step: int, progress: Progress | None = None
    ) -> int:
        """Compute a part's gradients, and wait until the device has."""
        samples = self._learner.compute(
            step,
            reduce=command.reduce,
            part=command.part,
            parts=command.parts,
            progress=progress,
        )
        self._device.synchronize()
        return samples

    def _pace(self, step: int, parts: int) -> Pace | None:
        """Return the pace of a part of computing, where the spec says how long that takes."""
        if self._paces is None:
            return None
        return self._paces.begin(self._transport.rank, step, parts)

    def _finish(self, handle: object, times: StepTimes) -> None:
        match handle:
            case Awaited():
                exchange = handle.asked.finish()
                handle.parameters.bring_back()
                self._own.took_answer()
                times.take_up(exchange, handle.asked.client.server)
            case Computing():
                handle.finish()
                times.samples += handle.samples
                times.compute_s += handle.ended_s - handle.begun_s

    def close(self) -> None:
        """End the thread that computes beside, where there is one, and give memory back.
        Idempotent."""
        if self._beside is not None:
            self._beside.close()
        for bucket in self._buckets.values():
            bucket.close()
        for shard in self._shards.values():
            shard.gradients.close()
            shard.parameters.close()

    def _all_reduce(self, command: AllReduce, step: int) -> None:
        """Sum a bucket of the gradients over all ranks."""
        bucket = command.bucket
        if bucket not in self._buckets:
            own = self._learner.gradients[bucket.start : bucket.stop]
            self._buckets[bucket] = carried_by(self._transport, own)
        carried = self._buckets[bucket]
        carried.take_out()
        if command.schedule is None:
            self._transport.native_all_reduce(carried.vector, self._world)
            self.counters.hide()
        else:
            self._run_schedule(command, command.schedule, carried.vector, step)
        carried.bring_back()

    def _run_schedule(
        self, command: AllReduce, schedule: Schedule, vector: Tensor, step: int
    ) -> None:
        bucket = command.bucket
        if bucket not in self._collectives:
            self._collectives[bucket] = collective_for(
                self._transport,
                schedule,
                numel=len(vector),
                channel=COLLECTIVES,
                wire=WIRE_DTYPES[command.wire_dtype] if command.wire_dtype else None,
            )
        header = Header.describing(vector, generation=self._generation, step=step)
        self._collectives[bucket].run(vector, header, self.counters)

    def _served(self, shard: Shard) -> Served:
        if shard not in self._shards:
            part = slice(shard.span.start, shard.span.stop)
            gradients = carried_by(self._transport, self._learner.gradients[part])
            parameters = carried_by(self._transport, self.agreed[part])
            server = self._world + shard.server
            if server not in self._answers:
                self._answers[server] = Answers(self._transport, server)
            client = ParameterClient(
                self._answers[server],
                shard=shard.span.index,
                gradients=gradients.vector,
                parameters=parameters.vector,
                generation=self._generation,
                first_seq=self._first_seq,
                counters=self.counters,
            )
            self._shards[shard] = Served(client, gradients, parameters)
        return self._shards[shard]
