"""What a server decides for one shard: order, version, acceptance. No array, clock or socket.

A transport feeds events in (`on_push`, `on_pull`, `on_join`, `on_leave`) and carries the returned
decisions out, in their order. A push is known by (worker, seq), seq counting 0, 1, 2, ... for each
worker, and is settled exactly once however often it is delivered: applied, or dropped.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from psbench.parameter_server.rules import Push, Rule, View


class Contribution(NamedTuple):
    """A push that is part of a version; `staleness` is the versions made since it was pulled."""

    worker: int
    seq: int
    staleness: int


class Apply(NamedTuple):
    """Sum these contributions, in this (rank) order, and step: that makes `version`."""

    version: int
    contributions: tuple[Contribution, ...]


class Drop(NamedTuple):
    """Use this push no more: it came too late, or its worker left; its staleness is what it would
    have had."""

    push: Contribution


class Reply(NamedTuple):
    """Send the parameters of `version` to `worker`; `seq` is its last push or -1."""

    worker: int
    seq: int
    version: int


Decision = Apply | Drop | Reply


class ShardCore:
    """The state machine of one shard under one consistency rule.

    A worker has at most one push that is not answered: it waits for that before the next.
    """

    def __init__(self, rule: Rule, members: Iterable[int]) -> None:
        self.rule = rule
        self.version = 0
        self._settled = dict.fromkeys(sorted(members), -1)  # last settled seq of each member
        self._clocks = dict.fromkeys(self._settled, 0)  # its applied pushes
        self._pending: list[Push] = []
        self._waiting: set[int] = set()

    @property
    def members(self) -> frozenset[int]:
        """The workers that take part."""
        return frozenset(self._settled)

    def on_push(self, push: Push) -> list[Decision]:
        """Take a push; a repeated one is answered again but never settled again.

        Raises ValueError for a worker that is no member, a gap in its seq, a push before the answer
        to another, or a pulled version that was never made: the caller's protocol is broken.
        """
        if self._is_new(push):
            self._pending.append(push)
        self._waiting.add(push.worker)
        return self._advance()

    def on_pull(self, worker: int) -> list[Decision]:
        """Answer a read with the parameters as they stand."""
        if worker not in self._settled:
            raise ValueError(f"worker {worker} pulls but has not joined")
        return [self._reply(worker, self.version)]

    def on_join(self, worker: int) -> list[Decision]:
        """Admit a worker (again); its seq starts at 0. It is answered with the parameters.

        One that has been a member all along begins anew: what it pushed and is not settled is
        dropped.
        """
        drops = self._forget(worker)
        self._clocks[worker] = min(self._clocks.values(), default=0)
        self._settled[worker] = -1
        return [*drops, self._reply(worker, self.version), *self._advance()]

    def on_leave(self, worker: int) -> list[Decision]:
        """Let a worker go; what it pushed and is not settled is dropped, and others may no longer
        need to wait."""
        return [*self._forget(worker), *self._advance()]

    def snapshot(self) -> dict[str, object]:
        """Return the state as plain data; pushes not settled are left out, to be sent again."""
        return {
            "version": self.version,
            "settled": dict(self._settled),
            "clocks": dict(self._clocks),
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Take up the state that `snapshot` gave."""
        version = state["version"]
        assert isinstance(version, int)
        self.version = version
        self._settled = _by_worker(state["settled"])
        self._clocks = _by_worker(state["clocks"])
        self._pending, self._waiting = [], set()

    def _is_new(self, push: Push) -> bool:
        """Say whether a push was never delivered before. Raises as `on_push`."""
        worker, seq = push.worker, push.seq
        if worker not in self._settled:
            raise ValueError(f"worker {worker} pushes but has not joined")
        last = self._last(worker)
        if not 0 <= seq <= last + 1:
            raise ValueError(f"worker {worker} pushes seq {seq} after {last}")
        if seq == last + 1 and worker in self._waiting:
            raise ValueError(f"worker {worker} pushes seq {seq} before it is answered")
        if not 0 <= push.pulled_version <= self.version:
            raise ValueError(
                f"worker {worker} read version {push.pulled_version} of {self.version}"
            )
        return seq > last

    def _advance(self) -> list[Decision]:
        decisions: list[Decision] = []
        # lists and maps of ours, so that it goes on with them
        view = View(version=self.version, pending=self._pending, clocks=self._clocks)
        while True:
            for push in self.rule.late(view):
                decisions.append(Drop(push=self._settle(push)))
            batch = self.rule.batch(view)
            if not batch:
                break
            decisions.append(self._apply(batch))
            view.version = self.version
        for worker in sorted(self._waiting):
            version = self.rule.read(worker, view)
            if version is not None:
                self._waiting.remove(worker)
                decisions.append(self._reply(worker, version))
        return decisions

    def _apply(self, batch: Iterable[Push]) -> Apply:
        ordered = sorted(batch, key=lambda push: push.worker)
        contributions = tuple(self._settle(push) for push in ordered)
        for push in ordered:
            self._clocks[push.worker] += 1
        self.version += 1
        return Apply(version=self.version, contributions=contributions)

    def _settle(self, push: Push) -> Contribution:
        self._pending.remove(push)
        self._settled[push.worker] = push.seq
        staleness = self.version - push.pulled_version
        return Contribution(worker=push.worker, seq=push.seq, staleness=staleness)

    def _forget(self, worker: int) -> list[Decision]:
        drops = [Drop(push=self._settle(push)) for push in self._of(worker)]
        self._settled.pop(worker, None)
        self._clocks.pop(worker, None)
        self._waiting.discard(worker)
        return list(drops)

    def _reply(self, worker: int, version: int) -> Reply:
        return Reply(worker=worker, seq=self._last(worker), version=version)

    def _last(self, worker: int) -> int:
        """Return the seq of a member's last push that has come."""
        return self._settled[worker] + (len(self._of(worker)) if self._pending else 0)

    def _of(self, worker: int) -> list[Push]:
        return [push for push in self._pending if push.worker == worker]


def _by_worker(state: object) -> dict[int, int]:
    assert isinstance(state, Mapping)
    return {int(worker): int(value) for worker, value in state.items()}
