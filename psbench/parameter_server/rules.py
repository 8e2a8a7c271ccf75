"""Consistency: when pushes become a version, and when a worker may go on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Push:
    """One worker's gradient of one shard, as the server sees it: who, which, and read from what."""

    worker: int
    seq: int
    pulled_version: int


class Rule(Protocol):
    """A consistency rule: pure, and without a state of its own."""

    waits_for_all: bool
    """Whether a version sums one push of every worker: shares of one batch, answered together.
    Else a push is a worker's own mean, and makes a version of its own."""

    def batch(self, pending: Sequence[Push], members: frozenset[int]) -> Sequence[Push]:
        """Return the pending pushes that together make the next version; empty to wait for more."""

    def may_proceed(self, worker: int, clocks: Mapping[int, int]) -> bool:
        """Say whether `worker`, whose pushes are all applied, may be answered.

        `clocks` counts the applied pushes of each member.
        """


@dataclass(frozen=True)
class Synchronous:
    """A version is the sum of one push of every member; all wait for it."""

    waits_for_all = True

    def batch(self, pending: Sequence[Push], members: frozenset[int]) -> Sequence[Push]:
        if len(pending) < len(members):
            return ()
        arrived = {push.worker for push in pending}
        return pending if members and arrived >= members else ()

    def may_proceed(self, worker: int, clocks: Mapping[int, int]) -> bool:
        return True


@dataclass(frozen=True)
class Asynchronous:
    """Every push makes a version of its own; nobody waits (Hogwild-style, after DistBelief)."""

    waits_for_all = False

    def batch(self, pending: Sequence[Push], members: frozenset[int]) -> Sequence[Push]:
        return pending[:1]

    def may_proceed(self, worker: int, clocks: Mapping[int, int]) -> bool:
        return True


RULES: dict[str, type[Synchronous] | type[Asynchronous]] = {
    "synchronous": Synchronous,
    "asynchronous": Asynchronous,
}
