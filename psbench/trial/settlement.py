"""What becomes of pushes once a shard's core has decided, whatever way they came."""

from collections.abc import Callable, Sequence
from typing import Any

from psbench.parameter_server import (
    Apply,
    Compensation,
    Contribution,
    Correct,
    Drop,
    LearningRate,
    Push,
    Rule,
    ShardStore,
)

Vector = Any
"""The store's own kind of flat vector."""


class Settlement:
    """Steps a shard's store with pushes, counts them, and knows what their workers are to be told.

    `shares` are the workers' shares of a batch; a version that lacks some of them is scaled up to
    the mean of those it has. `pushes` of each worker are part of the trial, where all make as many.
    """

    def __init__(
        self,
        store: ShardStore,
        rule: Rule,
        learning_rate: LearningRate,
        *,
        shares: Sequence[float],
        pushes: int,
    ) -> None:
        self.compensation: Compensation | None = learning_rate.compensation()
        self.applied = 0
        self.dropped = 0
        self.left = 0
        """pushes that were not settled when their workers left"""
        self._store = store
        self._rule = rule
        self._learning_rate = learning_rate
        self._shares = shares
        self._pushes = pushes
        self._staleness: dict[int, int] = {}
        self._foreseen: dict[int, int] = {}
        self._was_dropped: set[int] = set()

    def heard(self, push: Push) -> None:
        """Take note of a push that may be answered before it is settled: of its staleness, where
        the rule says which update it will be; none where the trial ends before that."""
        update = self._rule.update_of(push, len(self._shares))
        if update is not None:
            part = push.seq < self._pushes
            self._foreseen[push.worker] = update - push.pulled_version if part else -1

    def step(
        self,
        decision: Apply,
        vectors: Sequence[Vector],
        pulled: Callable[[Contribution], Vector],
    ) -> None:
        """Make a version of the pushed `vectors`: of the contributions in their order, or of their
        sum alone. `pulled` returns the parameters that a push was computed from; it is asked where
        delays are compensated."""
        parts = decision.contributions
        self._store.apply(
            vectors,
            self._scale(parts),
            rate=self._learning_rate.factor(parts[0].staleness, len(self._shares)),
            correct=self._correction(parts, pulled),
        )

    def settle(self, decision: Apply | Drop, *, left: bool = False) -> None:
        """Take note that a version was made, or that a push is used no more; `left`: not because
        it came too late, but because its worker goes."""
        match decision:
            case Apply(contributions=parts):
                self.applied += len(parts)
                for push in parts:
                    self._staleness[push.worker] = push.staleness
                    self._was_dropped.discard(push.worker)
            case Drop(push=push):
                self.dropped += not left
                self.left += left
                self._staleness[push.worker] = push.staleness
                self._was_dropped.add(push.worker)

    def staleness_of(self, worker: int) -> int:
        """Return the staleness of a worker's last push, as far as it is known; -1 where not."""
        return self._foreseen.get(worker, self._staleness.get(worker, -1))

    def was_dropped(self, worker: int) -> bool:
        """Say whether a worker's last push that was settled was dropped."""
        return worker in self._was_dropped

    def _scale(self, parts: Sequence[Contribution]) -> float:
        if not self._rule.sums_shares or len(parts) == len(self._shares):
            return 1.0
        return 1.0 / sum(self._shares[part.worker] for part in parts)

    def _correction(
        self, parts: Sequence[Contribution], pulled: Callable[[Contribution], Vector]
    ) -> Correct | None:
        compensation = self.compensation
        if compensation is None:
            return None
        (push,) = parts
        before = pulled(push)
        # what is carried behind the parameters is no part of them
        return lambda gradient, now: compensation.corrected(gradient, now, before[: len(now)])
