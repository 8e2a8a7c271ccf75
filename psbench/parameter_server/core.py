"""What a server decides for one shard: order, version, acceptance. No array, clock or socket.

A transport feeds events in (`on_push`, `on_pull`, `on_join`, `on_leave`) and carries the returned
decisions out, in their order. A push is known by (worker, seq), seq counting 0, 1, 2, ... for each
worker, and is applied exactly once however often it is delivered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from psbench.parameter_server.rules import Push, Rule


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """A push that is part of a version; `staleness` is the versions made since it was pulled."""

    worker: int
    seq: int
    staleness: int


@dataclass(frozen=True, kw_only=True)
class Apply:
    """Sum these contributions, in this (rank) order, and step: that makes `version`."""

    version: int
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Send the parameters, now of `version`, to `worker`; `seq` is its last applied push or -1."""

    worker: int
    seq: int
    version: int


Decision = Apply | Reply


class ShardCore:
    """The state machine of one shard under one consistency rule.

    A worker has at most one push in flight for a shard: it waits for the reply before the next.
    """

    def __init__(self, rule: Rule, members: Iterable[int]) -> None:
        self.rule = rule
        self.version = 0
        self._applied = dict.fromkeys(sorted(members), -1)  # last applied seq of each member
        self._pending: list[Push] = []
        self._waiting: set[int] = set()

    @property
    def members(self) -> frozenset[int]:
        """The workers that take part."""
        return frozenset(self._applied)

    def on_push(self, push: Push) -> list[Decision]:
        """Take a push; a repeated one is answered again but never applied again.

        Raises ValueError for a worker that is no member, a gap in its seq, or a pulled version that
        was never made: the caller's protocol is broken.
        """
        self._check(push)
        if any(p.worker == push.worker and p.seq == push.seq for p in self._pending):
            return []
        if push.seq > self._applied[push.worker]:
            self._pending.append(push)
        self._waiting.add(push.worker)
        return self._advance()

    def on_pull(self, worker: int) -> list[Decision]:
        """Answer a read with the parameters as they stand."""
        if worker not in self._applied:
            raise ValueError(f"worker {worker} pulls but has not joined")
        return [self._reply(worker)]

    def on_join(self, worker: int) -> list[Decision]:
        """Admit a worker (again); its seq starts at 0. It is answered with the parameters."""
        self._forget(worker)
        self._applied[worker] = -1
        return [self._reply(worker)]

    def on_leave(self, worker: int) -> list[Decision]:
        """Let a worker go; its waiting push is dropped, and others may no longer need to wait."""
        self._forget(worker)
        return self._advance()

    def snapshot(self) -> dict[str, object]:
        """Return the state as plain data; pushes not applied are left out, to be sent again."""
        return {"version": self.version, "applied": dict(self._applied)}

    def restore(self, state: Mapping[str, object]) -> None:
        """Take up the state that `snapshot` gave."""
        version, applied = state["version"], state["applied"]
        assert isinstance(version, int)
        assert isinstance(applied, Mapping)
        self.version = version
        self._applied = {int(worker): int(seq) for worker, seq in applied.items()}
        self._pending, self._waiting = [], set()

    def _check(self, push: Push) -> None:
        if push.worker not in self._applied:
            raise ValueError(f"worker {push.worker} pushes but has not joined")
        if not 0 <= push.seq <= self._applied[push.worker] + 1:
            raise ValueError(
                f"worker {push.worker} pushes seq {push.seq} after {self._applied[push.worker]}"
            )
        if not 0 <= push.pulled_version <= self.version:
            raise ValueError(
                f"worker {push.worker} read version {push.pulled_version} of {self.version}"
            )

    def _advance(self) -> list[Decision]:
        decisions: list[Decision] = []
        while batch := tuple(self.rule.batch(self._pending, self.members)):
            decisions.append(self._apply(batch))
        answerable = self._waiting.difference([push.worker for push in self._pending])
        if not answerable:
            return decisions
        clocks = {worker: seq + 1 for worker, seq in self._applied.items()}
        for worker in sorted(answerable):
            if self.rule.may_proceed(worker, clocks):
                self._waiting.remove(worker)
                decisions.append(self._reply(worker))
        return decisions

    def _apply(self, batch: tuple[Push, ...]) -> Apply:
        ordered = sorted(batch, key=lambda push: push.worker)
        contributions = tuple(
            Contribution(
                worker=push.worker, seq=push.seq, staleness=self.version - push.pulled_version
            )
            for push in ordered
        )
        self.version += 1
        for push in ordered:
            self._applied[push.worker] = push.seq
            self._pending.remove(push)
        return Apply(version=self.version, contributions=contributions)

    def _reply(self, worker: int) -> Reply:
        return Reply(worker=worker, seq=self._applied[worker], version=self.version)

    def _forget(self, worker: int) -> None:
        self._applied.pop(worker, None)
        self._waiting.discard(worker)
        self._pending = [push for push in self._pending if push.worker != worker]
