"""What the core decides, spelled out event by event; broken protocols; numbers through a store."""

import itertools
from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.parameter_server import (
    RULES,
    Apply,
    Asynchronous,
    BoundedStaleness,
    Contribution,
    Drop,
    NumpyStore,
    Push,
    Reply,
    ShardCore,
    Synchronous,
)
from psbench.spec import CONSISTENCIES


def push(worker, seq, pulled_version):
    return Push(worker=worker, seq=seq, pulled_version=pulled_version)


def applied(version, *contributions):
    return Apply(
        version=version,
        contributions=tuple(
            Contribution(worker=worker, seq=seq, staleness=staleness)
            for worker, seq, staleness in contributions
        ),
    )


def reply(worker, seq, version):
    return Reply(worker=worker, seq=seq, version=version)


def test_rules_are_those_a_spec_can_name():
    assert tuple(RULES) == CONSISTENCIES


def test_synchronous_waits_for_all_then_sums_in_rank_order_and_answers_all():
    core = ShardCore(Synchronous(), [0, 1, 2])
    assert core.on_push(push(2, 0, 0)) == []
    assert core.on_push(push(0, 0, 0)) == []
    assert core.on_push(push(1, 0, 0)) == [
        applied(1, (0, 0, 0), (1, 0, 0), (2, 0, 0)),
        reply(0, 0, 1),
        reply(1, 0, 1),
        reply(2, 0, 1),
    ]
    assert core.version == 1


def test_asynchronous_applies_at_once_and_answers_with_the_version_made():
    core = ShardCore(Asynchronous(), [0, 1])
    assert core.on_push(push(0, 0, 0)) == [applied(1, (0, 0, 0)), reply(0, 0, 1)]
    assert core.on_push(push(0, 1, 1)) == [applied(2, (0, 1, 0)), reply(0, 1, 2)]
    # worker 1 still computes on version 0: two were made since
    assert core.on_push(push(1, 0, 0)) == [applied(3, (1, 0, 2)), reply(1, 0, 3)]


def test_a_repeat_before_the_version_is_made_changes_nothing():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    assert core.on_push(push(0, 0, 0)) == []
    decisions = core.on_push(push(1, 0, 0))
    assert decisions == [applied(1, (0, 0, 0), (1, 0, 0)), reply(0, 0, 1), reply(1, 0, 1)]


@pytest.mark.parametrize("rule", [Synchronous(), Asynchronous()])
def test_a_repeat_after_the_version_was_made_is_answered_again(rule):
    core = ShardCore(rule, [0])
    core.on_push(push(0, 0, 0))
    assert core.on_push(push(0, 0, 0)) == [reply(0, 0, 1)]
    core.on_push(push(0, 1, 1))
    assert core.on_push(push(0, 0, 0)) == [reply(0, 1, 2)]  # a late one
    assert core.version == 2


def test_a_late_repeat_does_not_answer_the_push_that_waits():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    core.on_push(push(1, 0, 0))
    assert core.on_push(push(0, 1, 1)) == []
    assert core.on_push(push(0, 0, 0)) == []


def test_a_pull_reads_what_there_is_and_disturbs_nobody():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    assert core.on_pull(1) == [reply(1, -1, 0)]
    assert core.on_push(push(1, 0, 0))[0] == applied(1, (0, 0, 0), (1, 0, 0))
    assert core.on_pull(0) == [reply(0, 0, 1)]


def test_the_last_one_missing_leaves_and_the_others_go_on():
    core = ShardCore(Synchronous(), [0, 1, 2])
    core.on_push(push(2, 0, 0))
    core.on_push(push(0, 0, 0))
    decisions = core.on_leave(1)
    assert decisions == [applied(1, (0, 0, 0), (2, 0, 0)), reply(0, 0, 1), reply(2, 0, 1)]
    assert core.members == {0, 2}


def dropped(worker, seq, staleness):
    return Drop(push=Contribution(worker=worker, seq=seq, staleness=staleness))


def test_a_waiting_push_is_dropped_with_its_worker():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    assert core.on_leave(0) == [dropped(0, 0, 0)]
    assert core.on_push(push(1, 0, 0)) == [applied(1, (1, 0, 0)), reply(1, 0, 1)]
    assert core.on_leave(1) == []
    assert core.members == frozenset()


def test_who_joins_is_answered_and_waited_for():
    core = ShardCore(Synchronous(), [0])
    core.on_push(push(0, 0, 0))
    assert core.on_join(3) == [reply(3, -1, 1)]
    assert core.on_push(push(0, 1, 1)) == []
    assert core.on_push(push(3, 0, 1))[0] == applied(2, (0, 1, 0), (3, 0, 0))


def test_who_joins_again_starts_at_seq_0():
    core = ShardCore(Asynchronous(), [0])
    core.on_push(push(0, 0, 0))
    assert core.on_join(0) == [reply(0, -1, 1)]
    assert core.on_push(push(0, 0, 1)) == [applied(2, (0, 0, 0)), reply(0, 0, 2)]


def test_who_joins_again_without_having_left_begins_anew():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    assert core.on_join(0) == [dropped(0, 0, 0), reply(0, -1, 0)]
    assert core.on_push(push(1, 0, 0)) == []
    assert core.on_push(push(0, 0, 0))[0] == applied(1, (0, 0, 0), (1, 0, 0))


@pytest.mark.parametrize("rule", [Synchronous(), Asynchronous()])
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (push(7, 0, 0), "worker 7 pushes but has not joined"),
        (push(0, 2, 0), "worker 0 pushes seq 2 after 0"),
        (push(1, 1, 0), "worker 1 pushes seq 1 after -1"),
        (push(1, -1, 0), "worker 1 pushes seq -1 after -1"),
        (push(1, 0, 2), "worker 1 read version 2 of 1"),
        (push(1, 0, -1), "worker 1 read version -1 of 1"),
    ],
)
def test_a_broken_protocol_is_said_and_changes_nothing(rule, wrong, problem):
    core = ShardCore(rule, [0])
    core.on_push(push(0, 0, 0))
    core.on_join(1)
    before = core.snapshot()
    with pytest.raises(ValueError, match=problem):
        core.on_push(wrong)
    assert core.snapshot() == before
    assert core.on_push(push(1, 0, 1)) == ShardCore.on_push(restored(rule, before), push(1, 0, 1))


def restored(rule, state):
    core = ShardCore(rule, [])
    core.restore(state)
    return core


def test_a_second_push_before_the_answer_is_a_broken_protocol():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    with pytest.raises(ValueError, match="worker 0 pushes seq 1 before it is answered"):
        core.on_push(push(0, 1, 0))


def test_only_members_pull_and_push():
    core = ShardCore(Asynchronous(), [0, 1])
    core.on_leave(1)
    with pytest.raises(ValueError, match="worker 1 pulls but has not joined"):
        core.on_pull(1)
    with pytest.raises(ValueError, match="worker 1 pushes but has not joined"):
        core.on_push(push(1, 0, 0))


def test_a_snapshot_is_a_copy():
    core = ShardCore(Asynchronous(), [0])
    before = core.snapshot()
    core.on_push(push(0, 0, 0))
    assert before == {"version": 0, "settled": {0: -1}, "clocks": {0: 0}}
    assert core.snapshot() == {"version": 1, "settled": {0: 0}, "clocks": {0: 1}}


def test_restoring_forgets_what_there_was():
    core = ShardCore(Synchronous(), [0, 1])
    core.on_push(push(0, 0, 0))
    core.restore({"version": 7, "settled": {0: 3, 2: 5}, "clocks": {0: 4, 2: 6}})
    assert (core.version, core.members) == (7, {0, 2})
    assert core.on_push(push(2, 6, 7)) == []  # 0 has to send its push again
    assert core.on_push(push(0, 4, 7))[0] == applied(8, (0, 4, 0), (2, 6, 0))


@given(ranks=st.lists(st.integers(0, 3), max_size=30))
def test_without_a_bound_ssp_decides_as_asynchronous_does(ranks):
    """One recorded log of pushes, by rank, through both."""
    cores = [ShardCore(rule, range(4)) for rule in (Asynchronous(), BoundedStaleness(bound=inf))]
    seqs, known = Counter(), Counter()
    for rank in ranks:
        one = push(rank, seqs[rank], known[rank])
        seqs[rank] += 1
        decisions, others = [core.on_push(one) for core in cores]
        assert decisions == others
        known[rank] = decisions[-1].version


def test_the_sum_has_the_same_bits_in_whatever_order_pushes_arrive():
    # in float32, 1e8 + 1 is 1e8: only the rank order gives 0 here
    gradients = [np.float32([1e8]), np.float32([1.0]), np.float32([-1e8])]
    for order in itertools.permutations(range(3)):
        core, store = ShardCore(Synchronous(), range(3)), NumpyStore(np.float32([5.0]), lr=1.0)
        decisions = [d for w in order for d in core.on_push(push(w, 0, 0))]
        for decision in decisions:
            if isinstance(decision, Apply):
                store.apply([gradients[c.worker] for c in decision.contributions])
        assert store.read().tolist() == [5.0]
