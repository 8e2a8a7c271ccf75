"""That the checks bite: each planted fault of a core or rule is found by the check meant for it."""

import dataclasses
from functools import partial

import pytest

from psbench.parameter_server import Apply, Asynchronous, ShardCore, Synchronous


class Altered(ShardCore):
    """A core whose decisions on pushes pass through `alter`."""

    def __init__(self, rule, alter, members):
        super().__init__(rule, members)
        self._alter = alter

    def on_push(self, push):
        return self._alter(super().on_push(push))


def with_version(made):
    return dataclasses.replace(made, version=made.version + 1)


def with_parts(change, made):
    return dataclasses.replace(made, contributions=change(made.contributions))


def staler(by, parts):
    return tuple(dataclasses.replace(part, staleness=part.staleness + by) for part in parts)


def each_apply(change, decisions):
    return [change(d) if isinstance(d, Apply) else d for d in decisions]


def parts(change):
    return partial(each_apply, partial(with_parts, change))


class AppliesRepeats(ShardCore):
    def on_push(self, push):
        if push.seq == self._applied[push.worker]:
            self._applied[push.worker] -= 1
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
        return super().on_push(push) or [self._reply(push.worker)]


class AnswersOnlyTheLast(ShardCore):
    def on_push(self, push):
        decisions = super().on_push(push)
        return [d for d in decisions if isinstance(d, Apply) or d.worker == push.worker]


class OneShort(Synchronous):
    def batch(self, pending, members):
        return pending if len(pending) >= max(1, len(members) - 1) else ()


class Never(Synchronous):
    def batch(self, pending, members):
        return ()


class NobodyProceeds(Synchronous):
    def may_proceed(self, worker, clocks):
        return False


class InPairs(Asynchronous):
    def batch(self, pending, members):
        return pending[:2] if len(pending) >= min(2, len(members)) else ()


SYNC, ASYNC = Synchronous(), Asynchronous()

FAULTS = {
    "an answer is lost": ("progress", partial(Altered, ASYNC, lambda made: made[:-1])),
    "only the last is answered": ("synchronous", partial(AnswersOnlyTheLast, SYNC)),
    "answered twice": ("answers", partial(Altered, ASYNC, lambda made: made + made[-1:])),
    "answered before the sum": ("versions", partial(Altered, SYNC, lambda made: made[::-1])),
    "answered without a sum": ("exactly_once", partial(AnswersAtOnce, SYNC)),
    "a repeat is applied": ("exactly_once", partial(AppliesRepeats, ASYNC)),
    "a part is summed twice": ("exactly_once", partial(Altered, SYNC, parts(lambda p: p * 2))),
    "a part is left out": ("exactly_once", partial(Altered, SYNC, parts(lambda p: p[1:]))),
    "not in rank order": ("synchronous", partial(Altered, SYNC, parts(lambda p: p[::-1]))),
    "a version is left out": (
        "versions",
        partial(Altered, ASYNC, partial(each_apply, with_version)),
    ),
    "staleness one too many": (
        "staleness",
        partial(Altered, ASYNC, parts(partial(staler, 1))),
    ),
    "staleness one too few": ("staleness", partial(Altered, SYNC, parts(partial(staler, -1)))),
    "who left is applied": ("exactly_once", partial(AppliesWhoLeft, SYNC)),
    "who left is waited for": ("progress", partial(WaitsForWhoLeft, SYNC)),
    "one is not waited for": ("synchronous", partial(ShardCore, OneShort())),
    "a version is never made": ("progress", partial(ShardCore, Never())),
    "nobody may go on": ("progress", partial(ShardCore, NobodyProceeds())),
    "versions of two pushes": ("asynchronous", partial(ShardCore, InPairs())),
}


def breaks(check, log):
    try:
        check(log)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(all_histories, checks, fault):
    name, make_core = FAULTS[fault]
    check = {**checks["synchronous"], **checks["asynchronous"]}[name]
    assert any(breaks(check, log) for log in all_histories(make_core, 2, 5))
