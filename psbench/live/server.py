"""The loop of one parameter server: takes requests in, lets the core decide, carries that out."""

import time

import torch
from torch import Tensor

from psbench.errors import Mismatch
from psbench.live.counters import Counters
from psbench.live.headers import Header, dtype_code
from psbench.live.inbox import Buffers, Inbox, Loans
from psbench.live.job import DIVERGED, OK, Checkpoint, Job, Report
from psbench.live.letters import letters_over
from psbench.live.messages import (
    Answer,
    End,
    Kind,
    Request,
    Words,
)
from psbench.live.outbox import Copy, Outbox
from psbench.live.served_trial import ServedTrial
from psbench.live.transports import Transport
from psbench.parameter_server import RULES, Apply, Decision, Push, Reply, Rule, ShardCore
from psbench.spec import ParameterServer
from psbench.strategies import shard_spans
from psbench.training import build_learner


class Server:
    """A server for one trial: `serve` runs it; `learner` and `checkpoints` can be looked at then.

    Memory: a learner (for its initial parameters, and to evaluate), the shard, one buffer a worker
    for what it pushes (synchronous rules sum in rank order, whatever order pushes arrive in) or,
    where pushes are read in the workers' memory, one for their sum, at most one copy a worker of
    what is sent to it, and one for each evaluation.
    """

    def __init__(self, job: Job, transport: Transport) -> None:
        cell, trial = job.trial.cell, job.trial
        assert isinstance(cell.strategy, ParameterServer)
        assert cell.servers == 1, "the end and the evaluations of a trial are one server's to say"
        self.learner = build_learner(
            cell, seed=trial.seed, repeat=trial.repeat, rank=0, allocate=torch.zeros
        )
        index = transport.rank - cell.workers
        span = shard_spans(self.learner.parameters.numel(), cell.servers)[index]
        self._carries_loss = bool(self.learner.carried) and span.stop == len(
            self.learner.parameters
        )
        self._store = self.learner.store(span.start, span.stop, allocate=transport.allocate)
        self._rule: Rule = RULES[cell.strategy.consistency]()
        self._core = ShardCore(self._rule, range(cell.workers))
        self._per_step = 1 if self._rule.waits_for_all else cell.workers
        self._trial = ServedTrial(cell, versions_per_step=self._per_step)
        self._ours = Header.describing(self.parameters, generation=job.generation, step=0)
        self._dtype = dtype_code(self.parameters.dtype)
        self._request = Words(Request)
        self._answers = [Words(Answer) for _ in range(cell.workers)]
        self._transport = transport
        self._letters = letters_over(transport)
        self._inbox: Inbox = (
            Loans(self._letters, self.parameters)
            if self._letters.lends
            else Buffers(self._letters, cell.workers, self.parameters)
        )
        self._numel = len(self.parameters)
        self._in_place = Copy(buffer=self.parameters, version=0)
        self._outbox = Outbox(lambda: transport.allocate(self._numel, dtype=self.parameters.dtype))
        self._taken_ns: dict[int, int] = {}
        self._staleness: dict[int, int] = {}
        self._update_ns = 0
        self._applied = 0
        self._counters = Counters()

    @property
    def parameters(self) -> Tensor:
        """The shard's parameters as they stand."""
        return self._store.read()

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The copies made for evaluation."""
        return self._trial.checkpoints

    def serve(self) -> Report:
        """Serve until every worker has left. Raises TransportError where a peer fails."""
        for _ in self._core.members:
            self._one_request()  # each opens with a pull
        self._transport.barrier()
        opening = self._counters.copy()
        self._trial.begin()
        while self._core.members:
            self._one_request()
        return Report(
            status=DIVERGED if self._trial.end is End.DIVERGED else OK,
            steps=self._core.version // self._per_step,
            samples=self._trial.samples,
            seconds=self._trial.clock.seconds(time.monotonic()),
            counters=self._counters.since(opening),
            pushes=self._applied,
        )

    def _one_request(self) -> None:
        worker = self._letters.receive_any(self._request)
        request = self._request.get()
        self._check(request, worker)
        self._outbox.confirm(worker)
        decisions = self._decide(worker, request)
        for decision in decisions:
            self._carry_out(decision)
        made = decisions and isinstance(decisions[0], Apply)
        if made and self.learner.carried and self._trial.evaluation_due(self._core.version):
            # often the copy that answers were sent from, and then it costs the trial no time
            copy = self._outbox.copy(self.parameters, self._core.version)
            self._trial.keep(self._core.version, self._outbox.keep(copy))

    def _decide(self, worker: int, request: Request) -> list[Decision]:
        if request.kind == Kind.PUSH:
            return self._take_in(worker, request)
        self._letters.take(worker, None)
        match request.kind:
            case Kind.PULL:
                return self._core.on_pull(worker)
            case Kind.LEAVE:
                return self._core.on_leave(worker)
        raise Mismatch(f"rank {worker} sends a request of unknown kind {request.kind}")

    def _take_in(self, worker: int, request: Request) -> list[Decision]:
        if self._numel:
            self._inbox.take(worker)
            self._counters.add([], [(worker, self.parameters)])
        else:
            self._letters.take(worker, None)
        self._taken_ns[worker] = time.monotonic_ns()
        push = Push(worker=worker, seq=request.seq, pulled_version=request.pulled_version)
        return self._core.on_push(push)

    def _carry_out(self, decision: Decision) -> None:
        if isinstance(decision, Reply):
            self._answer(decision)
            return
        started = time.monotonic_ns()
        workers = [contribution.worker for contribution in decision.contributions]
        if self._numel:
            into = self.parameters if self._store.only_sums else None
            self._store.apply(self._inbox.contributions(workers, into))
            self._inbox.applied(workers)
        self._update_ns = time.monotonic_ns() - started
        self._applied += len(decision.contributions)
        self._staleness.update({c.worker: c.staleness for c in decision.contributions})
        loss = float(self.parameters[-1]) if self._carries_loss else None
        self._trial.on_version(decision.version, workers, loss)

    def _answer(self, reply: Reply) -> None:
        worker = reply.worker
        if self._numel:
            self._inbox.expect(worker)
        header = self._header(reply.seq)
        words = self._answers[worker]  # its last one has gone: it has asked since
        answer = Answer(
            generation=header.generation,
            seq=header.step,
            dtype=self._dtype,
            numel=header.numel,
            end=self._trial.end,
            version=reply.version,
            staleness=self._staleness.get(worker, -1),
            taken_ns=0 if self._rule.waits_for_all else self._taken_ns.get(worker, 0),
            update_ns=self._update_ns,
        )
        words.put(answer)
        copy = self._to_send(reply.version)
        vector = copy.buffer if self._numel else None
        if vector is not None:
            self._counters.add([(worker, vector)], [])
        works = self._letters.send(worker, words, vector)
        self._outbox.sent(worker, copy, works)

    def _to_send(self, version: int) -> Copy:
        """Return the parameters to send: themselves where they cannot change before all receivers
        have them, since the next version takes a push of each."""
        if self._rule.waits_for_all:
            return self._in_place
        return self._outbox.copy(self.parameters, version)

    def _header(self, step: int) -> Header:
        return self._ours.at(step)

    def _check(self, request: Request, worker: int) -> None:
        request.header.check(self._header(request.seq), f"rank {worker}")  # seq: the core
