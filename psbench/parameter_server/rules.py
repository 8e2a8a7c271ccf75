"""Consistency: when pushes become a version, and when a worker may go on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from psbench.parameter_server.staleness import Staleness


class Push(NamedTuple):
    """One worker's gradient of one shard, as the server sees it: who, which, and read from what."""

    worker: int
    seq: int
    pulled_version: int


@dataclass(kw_only=True, slots=True)
class View:
    """What a rule decides by, and never changes: the present version, the pushes that are not
    settled yet in order of arrival, and the clock of each member: how many of its pushes were
    applied. It goes on with its shard: what a rule returns is of the moment.

    A joiner's clock begins where the slowest member's is.
    """

    version: int
    pending: Sequence[Push]
    clocks: Mapping[int, int]

    def pushed(self) -> dict[int, int]:
        """Return the clock of each member with its pending pushes counted as well."""
        waiting = Counter(push.worker for push in self.pending)
        return {worker: clock + waiting[worker] for worker, clock in self.clocks.items()}

    def of(self, worker: int) -> Push | None:
        """Return the first pending push of a worker."""
        return next((push for push in self.pending if push.worker == worker), None)


class Rule(Protocol):
    """A consistency rule: pure, and without a state of its own."""

    @property
    def sums_shares(self) -> bool:
        """Whether a version sums pushes of several workers, each a share of one batch. Else a push
        is a worker's own mean, and makes a version of its own."""

    @property
    def lock_step(self) -> bool:
        """Whether no version is made before every member has had the one before."""

    @property
    def oldest_read(self) -> int:
        """How many versions before the present one an answer may be of."""

    def late(self, view: View) -> Sequence[Push]:
        """Return the pending pushes that no version can take any more: they are dropped."""

    def batch(self, view: View) -> Sequence[Push]:
        """Return the pending pushes that together make the next version; empty to wait for more."""

    def read(self, worker: int, view: View) -> int | None:
        """Return the version that `worker`, who waits for an answer, goes on with; None to wait."""

    def update_of(self, push: Push, workers: int) -> int | None:
        """Return which update, from 0, a push of one of so many `workers` will make, where workers
        may be answered before that; None where they are answered after it."""


@dataclass(frozen=True, kw_only=True)
class Synchronous:
    """A version sums one push of every member but the `backup` slowest of that version, whose late
    pushes are dropped (Chen et al. 2016); who is in it waits for it."""

    backup: int = 0
    sums_shares = True
    oldest_read = 0

    @property
    def lock_step(self) -> bool:
        return self.backup == 0

    def late(self, view: View) -> Sequence[Push]:
        return [push for push in view.pending if push.pulled_version < view.version]

    def batch(self, view: View) -> Sequence[Push]:
        enough = max(1, len(view.clocks) - self.backup)
        return tuple(view.pending[:enough]) if len(view.pending) >= enough else ()

    def read(self, worker: int, view: View) -> int | None:
        return None if view.of(worker) else view.version

    def update_of(self, push: Push, workers: int) -> None:
        return None


@dataclass(frozen=True)
class Asynchronous:
    """Every push makes a version of its own; nobody waits (Hogwild-style, after DistBelief)."""

    sums_shares = False
    lock_step = False
    oldest_read = 0

    def late(self, view: View) -> Sequence[Push]:
        return ()

    def batch(self, view: View) -> Sequence[Push]:
        return tuple(view.pending[:1])

    def read(self, worker: int, view: View) -> int | None:
        return view.version

    def update_of(self, push: Push, workers: int) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class BoundedStaleness:
    """Every push makes a version of its own; a worker that is more than `bound` steps ahead of the
    slowest waits for it (SSP, Ho et al. 2013).

    `reads`: "latest", the parameters as they stand, with what others have pushed ahead; "clock",
    those of the clocks that all have pushed, and nothing of the running one: a clock's pushes wait
    until all are there and are then applied in rank order.
    """

    bound: float
    """steps, a whole number or infinity"""
    reads: Literal["latest", "clock"] = "latest"
    sums_shares = False
    lock_step = False
    oldest_read = 0

    def late(self, view: View) -> Sequence[Push]:
        return ()

    def batch(self, view: View) -> Sequence[Push]:
        if self.reads == "latest":
            return tuple(view.pending[:1])
        running = min(view.pushed().values(), default=0)
        ended = [worker for worker, clock in view.clocks.items() if clock < running]
        if not ended:
            return ()
        push = view.of(min(ended, key=lambda worker: (view.clocks[worker], worker)))
        assert push is not None
        return (push,)

    def read(self, worker: int, view: View) -> int | None:
        pushed = view.pushed()
        ahead = pushed[worker] - min(pushed.values())
        return view.version if ahead <= self.bound else None

    def update_of(self, push: Push, workers: int) -> int | None:
        return push.seq * workers + push.worker if self.reads == "clock" else None


@dataclass(frozen=True, kw_only=True)
class InTurn:
    """Staleness on purpose: workers push in turn, and update v is made from a gradient at the
    parameters of version max(0, v - k), k as `staleness` says for v.

    The turn is of the member with the lowest clock, of equals the lowest rank: the same order on
    all shards. So, where there are several, members are those of the beginning until the trial
    ends: shards would notice at different turns that one joins or leaves, and each wait for what
    another holds up.

    A push at another version is dropped, and its worker told the right one: so is the first of a
    worker that should have seen what others made before its turn.
    """

    staleness: Staleness = field(default_factory=Staleness)
    sums_shares = False
    lock_step = False

    @property
    def oldest_read(self) -> int:
        return self.staleness.most

    def late(self, view: View) -> Sequence[Push]:
        push = self._next(view)
        return () if push is None or self._fits(push, view.version) else (push,)

    def batch(self, view: View) -> Sequence[Push]:
        push = self._next(view)
        return (push,) if push is not None and self._fits(push, view.version) else ()

    def read(self, worker: int, view: View) -> int | None:
        if view.of(worker):
            return None
        clock = view.clocks[worker]
        before = sum(max(0, clock - other + (rank < worker)) for rank, other in view.clocks.items())
        version = self._source(view.version + before)
        return version if version <= view.version else None

    def update_of(self, push: Push, workers: int) -> None:
        return None

    def _next(self, view: View) -> Push | None:
        turns = [(clock, worker) for worker, clock in view.clocks.items()]
        return view.of(min(turns)[1]) if turns else None

    def _fits(self, push: Push, update: int) -> bool:
        return push.pulled_version == self._source(update)

    def _source(self, update: int) -> int:
        return max(0, update - self.staleness.of(update))


RULES: dict[str, type[Synchronous] | type[Asynchronous] | type[BoundedStaleness]] = {
    "synchronous": Synchronous,
    "asynchronous": Asynchronous,
    "bounded_staleness": BoundedStaleness,
}
"""By the names a spec gives them. `InTurn` is what asynchronous is with a staleness of its own."""
