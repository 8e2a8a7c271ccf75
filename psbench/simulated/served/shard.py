"""One shard of a server in virtual time: its core decides, and this carries it out."""

from collections.abc import Sequence
from typing import Any

from psbench.parameter_server import (
    Apply,
    Contribution,
    Decision,
    Drop,
    LearningRate,
    Reply,
    Rule,
    ShardCore,
    ShardStore,
)
from psbench.simulated.served.letters import Answer, Request
from psbench.simulated.vectors import Vectors
from psbench.strategies import Span
from psbench.trial import End, Settlement

_Key = tuple[int, int]
"""A worker, and the seq of its push."""


class VirtualShard:
    """A part of the vector that a server keeps, its `number`th.

    `seconds` is what adding one contribution to it, or stepping with it, takes.
    """

    def __init__(
        self,
        span: Span,
        store: ShardStore,
        rule: Rule,
        learning_rate: LearningRate,
        vectors: Vectors,
        *,
        shares: Sequence[float],
        pushes: int,
        seconds: float,
    ) -> None:
        self.core = ShardCore(rule, range(len(shares)))
        self.settlement = Settlement(store, rule, learning_rate, shares=shares, pushes=pushes)
        self.nbytes = (span.stop - span.start) * vectors.itemsize
        self._number = span.index
        self._store = store
        self._rule = rule
        self._vectors = vectors
        self._seconds = seconds
        self._pushed: dict[_Key, Any] = {}
        self._read: dict[_Key, Any] = {}  # what a push was computed from
        self._answered: dict[int, Any] = {}  # what each worker was answered last
        self._versions: dict[int, Any] = {}  # copies that answers may be of
        self._sent: dict[int, float] = {}
        self._turned: dict[int, float] = {}
        self._updated = (0.0, 0.0)
        self._keep_version(0)

    @property
    def parameters(self) -> Any:
        """The parameters as they stand."""
        return self._store.read()

    def hear(self, request: Request, sent_s: float, now: float) -> list[Decision]:
        """Take in what a worker asks; return what is to be done, in order."""
        worker, push = request.worker, request.push
        if push is None:
            return self.core.on_leave(worker)
        self._turned[worker], self._sent[worker] = now, sent_s
        if self._vectors.is_real:
            self._pushed[worker, push.seq] = request.vector
        if self.settlement.compensation is not None:
            self._read[worker, push.seq] = self._answered[worker]
        decisions = self.core.on_push(push)
        self.settlement.heard(push)
        return decisions

    def open(self, worker: int) -> Any:
        """Answer a worker's opening pull; return the parameters."""
        self.core.on_pull(worker)
        self._answered[worker] = self._versions[0]
        return self._versions[0]

    def update_seconds(self, decision: Apply) -> float:
        """Return how long making a version takes."""
        return len(decision.contributions) * self._seconds

    def apply(self, decision: Apply, began: float, now: float) -> list[int]:
        """Make a version, from `began` until `now`; return the workers whose pushes it is of."""
        parts = decision.contributions
        if self._vectors.is_real:
            vectors = [self._pushed[part.worker, part.seq] for part in parts]
            self.settlement.step(decision, vectors, self._read_by)
            self._forget(parts)
        self._updated = (began, now)
        self.settlement.settle(decision)
        self._keep_version(decision.version)
        return [part.worker for part in parts]

    def drop(self, decision: Drop, *, left: bool) -> None:
        """Use a push no more; `left`: because its worker goes."""
        if self._vectors.is_real:
            self._forget([decision.push])
        self.settlement.settle(decision, left=left)

    def answer(self, reply: Reply, end: End, now: float) -> Answer:
        """Return what a worker is answered now."""
        worker = reply.worker
        began, updated = self._updated
        turned = self._turned[worker]
        held_s = now - turned - (updated - began)
        parameters = self._answered[worker] = self._version(reply.version)
        return Answer(
            shard=self._number,
            version=reply.version,
            parameters=parameters,
            end=end,
            staleness=self.settlement.staleness_of(worker),
            dropped=self.settlement.was_dropped(worker),
            sent_s=self._sent[worker],
            queue_s=None if self._rule.sums_shares else turned - self._sent[worker],
            turned_s=turned,
            held_s=held_s if held_s > 0 else 0.0,
            began_s=began,
            updated_s=updated,
        )

    def _read_by(self, push: Contribution) -> Any:
        return self._read[push.worker, push.seq]

    def _forget(self, pushes: Sequence[Contribution]) -> None:
        for push in pushes:
            self._pushed.pop((push.worker, push.seq))
            self._read.pop((push.worker, push.seq), None)

    def _keep_version(self, version: int) -> None:
        """Copy a version where the rule may read it when it is no longer the present one."""
        if version and not self._rule.oldest_read:
            return
        self._versions[version] = self._vectors.copy(self.parameters)
        oldest = version - self._rule.oldest_read
        for old in [known for known in self._versions if known < oldest]:
            del self._versions[old]

    def _version(self, version: int) -> Any:
        if version not in self._versions:
            assert version == self.core.version, "the rule reads no older version than it says"
            self._versions = {version: self._vectors.copy(self.parameters)}
        return self._versions[version]
