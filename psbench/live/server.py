"""The loop of one parameter server: takes requests in, lets the shards' cores decide."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from psbench.errors import Mismatch
from psbench.live.counters import Counters
from psbench.live.job import DIVERGED, OK, Job, Report
from psbench.live.letters import letters_over
from psbench.live.messages import Kind, Request, Words
from psbench.live.server_times import ServerTimes
from psbench.live.shard import ServedShard
from psbench.live.transports import Transport
from psbench.parameter_server import Apply, Drop, Reply
from psbench.spec import ParameterServer, carrier
from psbench.training import build_learner, stepped_by
from psbench.trial import Checkpoint, End, ServedTrial


class Server:
    """A server for one trial: `serve` runs it; `learner` and `checkpoints` can be looked at then.

    It keeps an even part of the vector. Where there are several servers, the last one alone, which
    has the loss, says when the trial ends and how long it took: every worker asks it in every step,
    and leaves all servers once it has heard. Of the others a worker's step has all answers by then,
    so that of an asynchronous trial all servers apply as many pushes, each in an order of its own.

    Memory: a learner (for its initial parameters, and to evaluate), what the shards say they need,
    and one copy of its part of the parameters for each evaluation.
    """

    def __init__(self, job: Job, transport: Transport) -> None:
        cell, trial = job.trial.cell, job.trial
        assert isinstance(carrier(cell.strategy), ParameterServer)
        self.learner = build_learner(
            cell, seed=trial.seed, repeat=trial.repeat, rank=0, allocate=torch.zeros
        )
        rule, learning_rate = job.plan.rule(), job.plan.learning_rate()
        numel, dtype = self.learner.parameters.numel(), self.learner.parameters.dtype
        strategy = job.plan.strategy(numel, dtype.itemsize)
        self._per_step, self._every = 1 if rule.sums_shares else cell.workers, strategy.every
        self._trial = ServedTrial(cell, versions_per_step=self._per_step, every=self._every)
        self._times = ServerTimes(self._trial.clock)
        self._decides = transport.rank == cell.processes - 1
        self._transport = transport
        self._letters = letters_over(transport)
        self._request = Words(Request)
        self._counters = Counters()
        by, shares = stepped_by(strategy.outer), job.plan.shares()
        self._shards = [
            ServedShard(
                self.learner.store(span.start, span.stop, by=by, allocate=transport.allocate),
                rule,
                learning_rate,
                self._letters,
                number=span.index,
                shares=shares,
                generation=job.generation,
                allocate=partial(transport.allocate, span.stop - span.start, dtype=dtype),
                counters=self._counters,
                pushes=cell.steps // strategy.every,
            )
            for span in job.plan.server_spans(numel, dtype.itemsize, transport.rank - cell.workers)
        ]

    @property
    def parameters(self) -> Tensor:
        """A copy of this server's part of the parameters as they stand."""
        return torch.cat([shard.parameters for shard in self._shards])

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The copies of this server's part made for evaluation."""
        return self._trial.checkpoints

    def part(self, step: int) -> Tensor:
        """Return this server's part of the parameters that are evaluated as those of `step`: its
        version of that step or, if the trial ended before it made that, the last it made."""
        for point in self.checkpoints:
            if point.step == step:
                kept: Tensor = point.parameters
                return kept
        return self.parameters

    @property
    def _last(self) -> ServedShard:
        """The shard that every worker pushes last: a version of it is one of all of this server."""
        return self._shards[0]

    def snapshot(self) -> list[dict[str, Any]]:
        """Return a copy of the state of every shard: parameters, optimiser, versions, and the last
        push of each worker."""
        return [shard.snapshot() for shard in self._shards]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Take up the state that `snapshot` gave of such a server, before serving; `first_step` of
        the job says where the workers go on."""
        for shard, one in zip(self._shards, state, strict=True):
            shard.restore(one)

    def serve(self) -> Report:
        """Serve until every worker has left; of several servers the last one's report says how the
        trial went. Raises TransportError where a peer fails."""
        for shard in self._shards:
            for _ in shard.core.members:
                self._one_request()  # each opens with a pull
        self._transport.barrier()
        opening = self._counters.copy()
        self._trial.begin()
        while any(shard.core.members for shard in self._shards):
            self._one_request()
        return Report(
            status=DIVERGED if self._end is End.DIVERGED else OK,
            steps=self._trial.steps,
            samples=self._trial.samples,
            seconds=self._trial.clock.seconds(time.monotonic()),
            counters=self._counters.since(opening),
            pushes=sum(shard.settlement.applied for shard in self._shards),
            pushes_dropped=sum(shard.settlement.dropped for shard in self._shards),
            pushes_left=sum(shard.settlement.left for shard in self._shards),
            server_times=self._times,
        )

    @property
    def _end(self) -> End:
        """What answers say of the trial."""
        return self._trial.end if self._decides else End.GO_ON

    def _one_request(self) -> None:
        worker = self._letters.receive_any(self._request)
        self._times.lap("waiting")
        request = self._request.get()
        shard = self._asked(worker, request)
        due: int | None = None
        decisions = shard.hear(worker, request)
        self._times.lap("receiving")
        for decision in decisions:
            match decision:
                case Apply():
                    if due is not None:
                        self._keep(due)  # before the next version is made of it
                    workers = shard.apply(decision)
                    self._times.lap("applying")  # before the version starts or stops the clock
                    due = self._made(decision.version, shard, workers)
                case Drop():
                    shard.drop(decision, left=request.kind == Kind.LEAVE)
                case Reply():
                    shard.answer(decision, self._end)
                    self._times.lap("sending")
        if due is not None:
            self._keep(due)  # after the answers: often one of them is the copy

    def _made(self, version: int, shard: ServedShard, workers: list[int]) -> int | None:
        """Take note of a version of a shard; return it if its parameters are to be evaluated."""
        if shard is not self._last:
            return None
        self._trial.on_version(version, workers, self._loss())
        return version if self.learner.carried and self._trial.evaluation_due(version) else None

    def _asked(self, worker: int, request: Request) -> ServedShard:
        if not 0 <= request.shard < len(self._shards):
            raise Mismatch(f"rank {worker} asks for shard {request.shard} of {len(self._shards)}")
        return self._shards[request.shard]

    def _loss(self) -> float | None:
        """Return the loss that the last push of the last elements carried, where there is one."""
        if not (self._decides and self.learner.carried):
            return None
        return float(self._shards[-1].parameters[-1])

    def _keep(self, version: int) -> None:
        """Keep a copy of the parameters, which are of that version, for evaluation."""
        if len(self._shards) == 1:
            self._trial.keep(version, self._last.copy_to_keep(version))
        else:
            started = time.monotonic()
            self._trial.keep(version, self.parameters)
            self._trial.clock.pause(time.monotonic() - started)
        self._times.lap("keeping")
