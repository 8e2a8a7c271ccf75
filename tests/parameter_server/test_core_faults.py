"""That the checks bite: each planted fault of a core or of a rule is found."""

from functools import partial

import pytest

from psbench.parameter_server import (
    Apply,
    Asynchronous,
    BoundedStaleness,
    Drop,
    InTurn,
    Reply,
    ShardCore,
    Synchronous,
)


class Altered(ShardCore):
    """A core whose decisions on pushes pass through `alter`."""

    def __init__(self, rule, alter, members):
        super().__init__(rule, members)
        self._alter = alter

    def on_push(self, push):
        return self._alter(super().on_push(push))


def with_version(made):
    return made._replace(version=made.version + 1)


def with_parts(change, made):
    return made._replace(contributions=change(made.contributions))


def staler(by, parts):
    return tuple(part._replace(staleness=part.staleness + by) for part in parts)


def each_apply(change, decisions):
    return [change(d) if isinstance(d, Apply) else d for d in decisions]


def parts(change):
    return partial(each_apply, partial(with_parts, change))


class AppliesRepeats(ShardCore):
    def on_push(self, push):
        if push.seq == self._settled[push.worker]:
            self._settled[push.worker] -= 1
        return super().on_push(push)


class AppliesWhoLeft(ShardCore):
    def on_leave(self, worker):
        kept = [push for push in self._pending if push.worker == worker]
        decisions = super().on_leave(worker)
        self._pending += kept
        return decisions


class WaitsForWhoLeft(ShardCore):
    def on_leave(self, worker):
        self._forget(worker)
        return []


class AnswersAtOnce(ShardCore):
    def on_push(self, push):
        return super().on_push(push) or [self._reply(push.worker, self.version)]


class AnswersOnlyTheLast(ShardCore):
    def on_push(self, push):
        decisions = super().on_push(push)
        return [d for d in decisions if isinstance(d, Apply) or d.worker == push.worker]


class OneShort(Synchronous):
    def batch(self, view):
        return view.pending if len(view.pending) >= max(1, len(view.clocks) - 1) else ()


class Never(Synchronous):
    def batch(self, view):
        return ()


class NobodyProceeds(Synchronous):
    def read(self, worker, view):
        return None


class KeepsTheLate(Synchronous):
    def late(self, view):
        return ()


class InPairs(Asynchronous):
    def batch(self, view):
        return view.pending[:2] if len(view.pending) >= min(2, len(view.clocks)) else ()


class OneMore(BoundedStaleness):
    """A bound off by one."""

    def read(self, worker, view):
        pushed = view.pushed()
        ahead = pushed[worker] - min(pushed.values())
        return view.version if ahead <= self.bound + 1 else None


class OneLess(BoundedStaleness):
    """It holds the slowest too."""

    def read(self, worker, view):
        pushed = view.pushed()
        ahead = pushed[worker] - min(pushed.values())
        return view.version if ahead < self.bound else None


class EarlyReads(BoundedStaleness):
    """It applies pushes of the running clock."""

    def batch(self, view):
        return view.pending[:1]


class TurnsByVersion(InTurn):
    """Turns that differ between shards once somebody has left: 1 waits for 2, and 2 for 1."""

    def _next(self, view):
        turns = sorted(view.clocks)
        return view.of(turns[view.version % len(turns)]) if turns else None

    def read(self, worker, view):
        turns = sorted(view.clocks)
        until = (turns.index(worker) - view.version) % len(turns)
        version = self._source(view.version + until)
        return version if view.of(worker) is None and version <= view.version else None


class Drops(ShardCore):
    """It never says what it dropped."""

    def on_push(self, push):
        return [d for d in super().on_push(push) if not isinstance(d, Drop)]


class JoinsAtZero(ShardCore):
    """A joiner is waited for until it has made as many steps as the others."""

    def on_join(self, worker):
        decisions = super().on_join(worker)
        self._clocks[worker] = 0
        return decisions


def reply_of_older(decisions):
    return [
        d._replace(version=max(0, d.version - 1)) if isinstance(d, Reply) else d for d in decisions
    ]


SYNC, ASYNC, BACKUP = Synchronous(), Asynchronous(), Synchronous(backup=1)
SSP, CLOCK = BoundedStaleness(bound=1), BoundedStaleness(bound=0, reads="clock")

FAULTS = {
    "an answer is lost": partial(Altered, ASYNC, lambda made: made[:-1]),
    "an answer of ssp is lost": partial(Altered, SSP, lambda made: made[:1]),
    "only the last is answered": partial(AnswersOnlyTheLast, SYNC),
    "answered twice": partial(Altered, ASYNC, lambda made: made + made[-1:]),
    "answered before the sum": partial(Altered, SYNC, lambda made: made[::-1]),
    "answered without a sum": partial(AnswersAtOnce, SYNC),
    "answered with an older version": partial(Altered, ASYNC, reply_of_older),
    "a repeat is applied": partial(AppliesRepeats, ASYNC),
    "a repeat is dropped twice": partial(AppliesRepeats, BACKUP),
    "a part is summed twice": partial(Altered, SYNC, parts(lambda p: p * 2)),
    "a part is left out": partial(Altered, SYNC, parts(lambda p: p[1:])),
    "not in rank order": partial(Altered, SYNC, parts(lambda p: p[::-1])),
    "a version is left out": partial(Altered, ASYNC, partial(each_apply, with_version)),
    "staleness one too many": partial(Altered, ASYNC, parts(partial(staler, 1))),
    "staleness one too few": partial(Altered, SYNC, parts(partial(staler, -1))),
    "who left is applied": partial(AppliesWhoLeft, SYNC),
    "who left is waited for": partial(WaitsForWhoLeft, SYNC),
    "who left holds ssp up": partial(WaitsForWhoLeft, BoundedStaleness(bound=0)),
    "who joins holds ssp up": partial(JoinsAtZero, SSP),
    "one is not waited for": partial(ShardCore, OneShort()),
    "a version is never made": partial(ShardCore, Never()),
    "nobody may go on": partial(ShardCore, NobodyProceeds()),
    "what is late counts": partial(ShardCore, KeepsTheLate(backup=1)),
    "a drop is not said": partial(Drops, BACKUP),
    "versions of two pushes": partial(ShardCore, InPairs()),
    "a bound one too wide": partial(ShardCore, OneMore(bound=0)),
    "a bound one too narrow": partial(ShardCore, OneLess(bound=0)),
    "the running clock is read": partial(ShardCore, EarlyReads(bound=1, reads="clock")),
    "turns that differ between shards": partial(ShardCore, TurnsByVersion()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(new_world, explore, fault):
    workers = 3 if fault == "turns that differ between shards" else 2
    world = new_world(FAULTS[fault], workers=workers, pushes=2, repeats=1, leaves=1, joins=1)
    with pytest.raises((AssertionError, KeyError)):
        explore(world)
