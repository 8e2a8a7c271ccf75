"""What a parameter server does for one shard: takes pushes in, applies them, answers."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from psbench.errors import Mismatch, SpecError
from psbench.live.counters import Counters
from psbench.live.headers import Header, dtype_code
from psbench.live.inbox import Buffers, Inbox, Loans
from psbench.live.letters import MOST_LETTERS, Letters
from psbench.live.messages import Answer, Kind, Request, Words
from psbench.live.outbox import Copy, Outbox
from psbench.live.pulled import Pulled
from psbench.parameter_server import (
    Apply,
    Contribution,
    Decision,
    Drop,
    LearningRate,
    Push,
    Reply,
    Rule,
    ShardCore,
)
from psbench.spec import Cell, ParameterServer, carrier
from psbench.strategies import buckets
from psbench.training import DTYPES, Store, vector_nbytes
from psbench.trial import End, Settlement, elements


def check_shards(cells: Sequence[Cell]) -> None:
    """Raise SpecError where a cell's buckets make more shards than a server can keep apart."""
    for cell in cells:
        strategy = carrier(cell.strategy)
        if isinstance(strategy, ParameterServer) and strategy.bucket is not None:
            itemsize = DTYPES[cell.task.dtype].itemsize
            longest = -(-vector_nbytes(cell) // itemsize // cell.servers)
            number = len(buckets(longest, elements(strategy.bucket, itemsize)))
            if number > MOST_LETTERS:
                least = -(-longest // MOST_LETTERS) * itemsize
                raise SpecError(
                    f"strategy.bucket: a server keeps at most {MOST_LETTERS} buckets, and these "
                    f"would be {number}; write at least {least} B"
                )


class ServedShard:
    """A shard of `store`, the server's of that `number`; its core decides, and this carries it out.

    `shares` are the workers' shares of a batch; a version that lacks some of them is scaled up to
    the mean of those it has.

    Memory: the shard, one buffer a worker for what it pushes (synchronous rules sum in rank order,
    whatever order pushes arrive in) or, where pushes are read in the workers' memory, one for their
    sum, and at most one copy a worker of what is sent to it, with one a version that answers may
    still be of. Where the learning rate compensates delays, a copy is kept until the push computed
    from it is settled. `allocate` gives memory for a copy.
    """

    def __init__(
        self,
        store: Store,
        rule: Rule,
        learning_rate: LearningRate,
        letters: Letters,
        *,
        number: int,
        shares: Sequence[float],
        generation: int,
        allocate: Callable[[], Tensor],
        counters: Counters,
        pushes: int,
    ) -> None:
        """`pushes` of each worker are part of the trial, where all make as many."""
        workers = len(shares)
        self.core = ShardCore(rule, range(workers))
        self.settlement = Settlement(store, rule, learning_rate, shares=shares, pushes=pushes)
        self._store = store
        self._rule = rule
        self._compensation = self.settlement.compensation
        self._pulled = Pulled()
        self._letters = letters
        self._number = number
        self._counters = counters
        self._numel = len(self.parameters)
        self._ours = Header.describing(self.parameters, generation=generation, step=0)
        self._dtype = dtype_code(self.parameters.dtype)
        self._answers = [Words(Answer) for _ in range(workers)]
        self._inbox: Inbox = (
            Loans(letters, self.parameters) if letters.lends else Buffers(letters, self.parameters)
        )
        self._in_place = Copy(buffer=self.parameters, version=0)
        self._outbox = Outbox(allocate, rule.oldest_read)
        self._turned_ns: dict[int, int] = {}
        self._taken_ns: dict[int, int] = {}
        self._update_ns = self._updated_ns = 0
        if rule.oldest_read:
            self._outbox.copy(self.parameters, 0)

    @property
    def parameters(self) -> Tensor:
        """The parameters as they stand."""
        return self._store.read()

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of what the shard is made of; pushes not settled are left out."""
        return {
            "core": self.core.snapshot(),
            "store": self._store.snapshot(),
            "older": self._outbox.snapshot(),
            "compensation": self._compensation and self._compensation.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the state that `snapshot` gave, before any request."""
        self.core.restore(state["core"])
        self._store.restore(state["store"])
        self._outbox.restore(state["older"])
        if self._compensation is not None:
            self._compensation.restore(state["compensation"])

    def hear(self, worker: int, request: Request) -> list[Decision]:
        """Take in what a worker asks; return what is to be done, in order."""
        self._turned_ns[worker] = time.monotonic_ns()
        request.header.check(self._ours.at(request.seq), f"rank {worker}")  # seq: the core
        had = self._outbox.confirm(worker)
        if request.kind == Kind.PUSH:
            if had is not None and self._compensation is not None:
                self._pulled.hold(worker, request.seq, had)
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
            self._inbox.take(worker, request.seq)
            self._counters.add([], [(worker, self.parameters)])
        else:
            self._letters.take(worker, None)
        self._taken_ns[worker] = time.monotonic_ns()
        push = Push(worker=worker, seq=request.seq, pulled_version=request.pulled_version)
        decisions = self.core.on_push(push)
        self.settlement.heard(push)
        return decisions

    def apply(self, decision: Apply) -> list[int]:
        """Make a version; return the workers whose pushes it is made of."""
        started = time.monotonic_ns()
        parts = decision.contributions
        if self._numel:
            into = self.parameters if self._store.only_sums else None
            vectors = self._inbox.contributions(parts, into)
            self.settlement.step(decision, vectors, self._pulled.of)
            self._inbox.settled(parts)
        if self._rule.oldest_read:
            self._outbox.copy(self.parameters, decision.version)
        self._updated_ns = time.monotonic_ns()
        self._update_ns = self._updated_ns - started
        self._settle(decision, parts)
        return [part.worker for part in parts]

    def drop(self, decision: Drop, *, left: bool) -> None:
        """Use a push no more; `left`: not because it came too late, but because its worker goes."""
        if self._numel:
            self._inbox.settled([decision.push])
        self._settle(decision, [decision.push], left=left)

    def _settle(
        self, decision: Apply | Drop, pushes: Sequence[Contribution], *, left: bool = False
    ) -> None:
        if self._compensation is not None:
            self._pulled.settled(pushes)
        self.settlement.settle(decision, left=left)

    def answer(self, reply: Reply, end: End) -> None:
        """Send the parameters to a worker, with what is to be said of the trial."""
        worker = reply.worker
        if self._numel:
            self._inbox.expect(worker)
        header = self._ours.at(reply.seq)
        words = self._answers[worker]  # its last one has gone: it has asked since
        taken_ns = self._taken_ns.get(worker, 0)
        answer = Answer(
            generation=header.generation,
            seq=header.step,
            dtype=self._dtype,
            numel=header.numel,
            shard=self._number,
            end=end,
            version=reply.version,
            staleness=self.settlement.staleness_of(worker),
            dropped=self.settlement.was_dropped(worker),
            turned_ns=self._turned_ns.get(worker, 0),
            taken_ns=0 if self._rule.sums_shares else taken_ns,
            held_ns=self._held_ns(taken_ns),
            update_ns=self._update_ns,
            updated_ns=self._updated_ns,
        )
        words.put(answer)
        copy = self._to_send(reply.version)
        vector = copy.buffer if self._numel else None
        if vector is not None:
            self._counters.add([(worker, vector)], [])
        works = self._letters.send(worker, words, vector)
        self._outbox.sent(worker, copy, works)

    def copy_to_keep(self, version: int) -> Tensor:
        """Return a copy of the parameters, which are of that version, that is never written to:
        often the very one that answers were sent from, and then it costs the trial no time."""
        return self._outbox.keep(self._outbox.copy(self.parameters, version))

    def _held_ns(self, taken_ns: int) -> int:
        """Return how long a push that was taken then has waited for others."""
        if not taken_ns:
            return 0
        return max(0, time.monotonic_ns() - taken_ns - self._update_ns)

    def _to_send(self, version: int) -> Copy:
        """Return the parameters to send: themselves where they cannot change before all receivers
        have them."""
        if self._rule.lock_step:
            return self._in_place
        if version < self.core.version:
            copy = self._outbox.made(version)
            assert copy is not None, "the rule reads no older version than it says"
            return copy
        return self._outbox.copy(self.parameters, version)
