"""What a parameter server does for one shard: takes pushes in, applies them, answers."""

import time
from collections.abc import Callable, Sequence

from torch import Tensor

from psbench.errors import Mismatch, SpecError
from psbench.live.counters import Counters
from psbench.live.headers import Header, dtype_code
from psbench.live.inbox import Buffers, Inbox, Loans
from psbench.live.job import elements
from psbench.live.letters import MOST_LETTERS, Letters
from psbench.live.messages import Answer, End, Kind, Request, Words
from psbench.live.outbox import Copy, Outbox
from psbench.parameter_server import Apply, Decision, Push, Reply, Rule, ShardCore
from psbench.spec import Cell, ParameterServer, carrier
from psbench.strategies import buckets
from psbench.training import DTYPES, Store, vector_nbytes


def check_shards(cells: Sequence[Cell]) -> None:
    """Raise SpecError where a cell's buckets make more shards than a server can keep apart."""
    for cell in cells:
        strategy = carrier(cell.strategy)
        if isinstance(strategy, ParameterServer) and strategy.bucket is not None:
            itemsize = DTYPES[cell.task.dtype].itemsize
            numel = vector_nbytes(cell) // itemsize
            number = len(buckets(numel, elements(strategy.bucket, itemsize)))
            if number > MOST_LETTERS:
                least = -(-numel // MOST_LETTERS) * itemsize
                raise SpecError(
                    f"strategy.bucket: a server keeps at most {MOST_LETTERS} buckets, and these "
                    f"would be {number}; write at least {least} B"
                )


class ServedShard:
    """A shard of `store`, the server's of that `number`; its core decides, and this carries it out.

    Memory: the shard, one buffer a worker for what it pushes (synchronous rules sum in rank order,
    whatever order pushes arrive in) or, where pushes are read in the workers' memory, one for their
    sum, and at most one copy a worker of what is sent to it. `allocate` gives memory for a copy.
    """

    def __init__(
        self,
        store: Store,
        rule: Rule,
        letters: Letters,
        *,
        number: int,
        workers: int,
        generation: int,
        allocate: Callable[[], Tensor],
        counters: Counters,
    ) -> None:
        self.core = ShardCore(rule, range(workers))
        self.applied = 0
        self._store = store
        self._rule = rule
        self._letters = letters
        self._number = number
        self._counters = counters
        self._numel = len(self.parameters)
        self._ours = Header.describing(self.parameters, generation=generation, step=0)
        self._dtype = dtype_code(self.parameters.dtype)
        self._answers = [Words(Answer) for _ in range(workers)]
        self._inbox: Inbox = (
            Loans(letters, self.parameters)
            if letters.lends
            else Buffers(letters, workers, self.parameters)
        )
        self._in_place = Copy(buffer=self.parameters, version=0)
        self._outbox = Outbox(allocate)
        self._taken_ns: dict[int, int] = {}
        self._staleness: dict[int, int] = {}
        self._update_ns = 0

    @property
    def parameters(self) -> Tensor:
        """The parameters as they stand."""
        return self._store.read()

    def hear(self, worker: int, request: Request) -> list[Decision]:
        """Take in what a worker asks; return what is to be done, in order."""
        request.header.check(self._ours.at(request.seq), f"rank {worker}")  # seq: the core
        self._outbox.confirm(worker)
        if request.kind == Kind.PUSH:
            return self._take_in(worker, request)
        self._letters.take(worker, None)
        match request.kind:
            case Kind.PULL:
                return self.core.on_pull(worker)
            case Kind.LEAVE:
                return self.core.on_leave(worker)
        raise Mismatch(f"rank {worker} sends a request of unknown kind {request.kind}")

    def _take_in(self, worker: int, request: Request) -> list[Decision]:
        if self._numel:
            self._inbox.take(worker)
            self._counters.add([], [(worker, self.parameters)])
        else:
            self._letters.take(worker, None)
        self._taken_ns[worker] = time.monotonic_ns()
        push = Push(worker=worker, seq=request.seq, pulled_version=request.pulled_version)
        return self.core.on_push(push)

    def apply(self, decision: Apply) -> list[int]:
        """Make a version; return the workers whose pushes it is made of."""
        started = time.monotonic_ns()
        workers = [contribution.worker for contribution in decision.contributions]
        if self._numel:
            into = self.parameters if self._store.only_sums else None
            self._store.apply(self._inbox.contributions(workers, into))
            self._inbox.applied(workers)
        self._update_ns = time.monotonic_ns() - started
        self.applied += len(decision.contributions)
        self._staleness.update({c.worker: c.staleness for c in decision.contributions})
        return workers

    def answer(self, reply: Reply, end: End) -> None:
        """Send the parameters to a worker, with what is to be said of the trial."""
        worker = reply.worker
        if self._numel:
            self._inbox.expect(worker)
        header = self._ours.at(reply.seq)
        words = self._answers[worker]  # its last one has gone: it has asked since
        answer = Answer(
            generation=header.generation,
            seq=header.step,
            dtype=self._dtype,
            numel=header.numel,
            shard=self._number,
            end=end,
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

    def copy_to_keep(self) -> Tensor:
        """Return a copy of the parameters that is never written to: often the very one that answers
        were sent from, and then it costs the trial no time."""
        return self._outbox.keep(self._outbox.copy(self.parameters, self.core.version))

    def _to_send(self, version: int) -> Copy:
        """Return the parameters to send: themselves where they cannot change before all receivers
        have them, since the next version takes a push of each."""
        if self._rule.waits_for_all:
            return self._in_place
        return self._outbox.copy(self.parameters, version)
