"""The loop of one parameter server: takes requests in, lets the shards' cores decide."""

import time
from functools import partial

import torch
from torch import Tensor

from psbench.errors import Mismatch
from psbench.live.counters import Counters
from psbench.live.job import DIVERGED, OK, Checkpoint, Job, Report
from psbench.live.letters import letters_over
from psbench.live.messages import End, Request, Words
from psbench.live.served_trial import ServedTrial
from psbench.live.shard import ServedShard
from psbench.live.transports import Transport
from psbench.parameter_server import RULES, Apply
from psbench.spec import ParameterServer, Sgd, carrier
from psbench.strategies import Elastic, Outer
from psbench.training import build_learner


class Server:
    """A server for one trial: `serve` runs it; `learner` and `checkpoints` can be looked at then.

    Memory: a learner (for its initial parameters, and to evaluate), what the shards say they need,
    and one copy of the parameters for each evaluation.
    """

    def __init__(self, job: Job, transport: Transport) -> None:
        cell, trial = job.trial.cell, job.trial
        served_by = carrier(cell.strategy)
        assert isinstance(served_by, ParameterServer)
        assert cell.servers == 1, "the end and the evaluations of a trial are one server's to say"
        self.learner = build_learner(
            cell, seed=trial.seed, repeat=trial.repeat, rank=0, allocate=torch.zeros
        )
        rule = RULES[served_by.consistency]()
        numel, dtype = self.learner.parameters.numel(), self.learner.parameters.dtype
        strategy = job.strategy(numel, dtype.itemsize)
        self._per_step, self._every = 1 if rule.waits_for_all else cell.workers, strategy.every
        self._trial = ServedTrial(cell, versions_per_step=self._per_step, every=self._every)
        self._transport = transport
        self._letters = letters_over(transport)
        self._request = Words(Request)
        self._counters = Counters()
        self._shards = [
            ServedShard(
                self.learner.store(
                    span.start,
                    span.stop,
                    by=_options(strategy.outer),
                    allocate=transport.allocate,
                ),
                rule,
                self._letters,
                number=span.index,
                workers=cell.workers,
                generation=job.generation,
                allocate=partial(transport.allocate, span.stop - span.start, dtype=dtype),
                counters=self._counters,
            )
            for span in job.server_spans(numel, dtype.itemsize, transport.rank - cell.workers)
        ]

    @property
    def parameters(self) -> Tensor:
        """A copy of the parameters as they stand."""
        return torch.cat([shard.parameters for shard in self._shards])

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The copies made for evaluation."""
        return self._trial.checkpoints

    @property
    def _last(self) -> ServedShard:
        """The shard that every worker pushes last: a version of it is one of them all."""
        return self._shards[0]

    def serve(self) -> Report:
        """Serve until every worker has left. Raises TransportError where a peer fails."""
        for shard in self._shards:
            for _ in shard.core.members:
                self._one_request()  # each opens with a pull
        self._transport.barrier()
        opening = self._counters.copy()
        self._trial.begin()
        while any(shard.core.members for shard in self._shards):
            self._one_request()
        return Report(
            status=DIVERGED if self._trial.end is End.DIVERGED else OK,
            steps=self._last.core.version * self._every // self._per_step,
            samples=self._trial.samples,
            seconds=self._trial.clock.seconds(time.monotonic()),
            counters=self._counters.since(opening),
            pushes=sum(shard.applied for shard in self._shards),
        )

    def _one_request(self) -> None:
        worker = self._letters.receive_any(self._request)
        request = self._request.get()
        shard = self._asked(worker, request)
        made = False
        for decision in shard.hear(worker, request):
            if isinstance(decision, Apply):
                workers = shard.apply(decision)
                if shard is self._last:
                    self._trial.on_version(decision.version, workers, self._loss())
                    made = True
            else:
                shard.answer(decision, self._trial.end)
        if made and self.learner.carried and self._trial.evaluation_due(self._last.core.version):
            self._keep()

    def _asked(self, worker: int, request: Request) -> ServedShard:
        if not 0 <= request.shard < len(self._shards):
            raise Mismatch(f"rank {worker} asks for shard {request.shard} of {len(self._shards)}")
        return self._shards[request.shard]

    def _loss(self) -> float | None:
        """Return the loss that the last push of the last elements carried, where there is one."""
        return float(self._shards[-1].parameters[-1]) if self.learner.carried else None

    def _keep(self) -> None:
        """Keep a copy of the parameters for evaluation."""
        version = self._last.core.version
        if len(self._shards) == 1:
            self._trial.keep(version, self._last.copy_to_keep())
            return
        started = time.monotonic()
        self._trial.keep(version, self.parameters)
        self._trial.clock.pause(time.monotonic() - started)


def _options(outer: Outer | Elastic | None) -> Sgd | float | None:
    """Return what a store is stepped by, as a learner takes it."""
    match outer:
        case Outer():
            return Sgd(kind="sgd", **vars(outer))
        case Elastic(alpha=alpha):
            return alpha
    return None
