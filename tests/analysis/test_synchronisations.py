"""Shares of a step whose buckets are in flight side by side: by hand, and for rows of any kind."""

import itertools
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psbench.analysis.measures import derive_steps

SHARES = ("exposed_wait", "exposed_comm_s", "exposed_server_update_s")


def _derived(rows, kind, workers=None, one_clock=True):
    frame = pd.DataFrame(rows, columns=list(rows[0]._fields))
    workers = workers or len(rows)
    steps = derive_steps(frame, kind=kind, workers=workers, one_clock=one_clock)
    rest = steps["exposed_sync_s"] - steps["exposed_comm_s"] - steps["exposed_server_update_s"]
    return steps.assign(exposed_wait=rest)


def _shares(steps):
    return [steps[name].tolist() for name in SHARES]


def _pushes(step_row, enters, sents, begins, ends, exits, **fields):
    queues = [begin - sent for sent, begin in zip(sents, begins, strict=True)]
    updates = [end - begin for begin, end in zip(begins, ends, strict=True)]
    return step_row(
        enters=enters, exits=exits, enter_s=enters[0], exit_s=exits[-1], sents=sents,
        update_begins=begins, update_ends=ends, queue_s=max(queues), server_update_s=sum(updates),
        **fields,
    )  # fmt: skip


def test_queue_and_update_that_computing_hides_are_not_taken_from_what_it_does_not(step_row):
    # Computing ends at 104. The first shard queues from 102 to 103 and is applied until 104, the
    # second is sent at 104, queues from 104.5 to 105, is applied until 106; both are back at 107.
    row = _pushes(
        step_row,
        enters=(101.0, 104.0),
        sents=(102.0, 104.5),
        begins=(103.0, 105.0),
        ends=(104.0, 106.0),
        exits=(104.25, 107.0),
    )
    steps = _derived([row], "asynchronous")
    assert steps["sync_s"].tolist() == [6.0]
    assert steps["comm_s"].tolist() == [1 + 0.5 + 1]
    assert steps["exposed_sync_s"].tolist() == [3.0]
    assert _shares(steps) == [[0.5], [0.5 + 1.0], [1.0]]


def test_a_shard_that_queues_while_another_is_applied_counts_once(step_row):
    # Both are sent by 105, by a rank that computes nothing beside: the server applies the one from
    # 105 to 106, the other from 106 to 107, and all is back at 108.
    row = _pushes(
        step_row,
        enters=(104.0, 104.5),
        sents=(104.5, 105.0),
        begins=(105.0, 106.0),
        ends=(106.0, 107.0),
        exits=(108.0, 108.0),
    )
    steps = _derived([row], "asynchronous")
    assert steps["sync_s"].tolist() == [4.0]
    # the first answer is on its way while the second shard is applied
    assert steps["comm_s"].tolist() == steps["exposed_comm_s"].tolist() == [3.0]
    assert _shares(steps) == [[0.0], [3.0], [1.0]]


def test_servers_that_apply_side_by_side_take_the_time_of_one(step_row):
    both = {"begins": (105.0, 105.0), "ends": (107.0, 107.0)}
    rows = [
        _pushes(step_row, (104.0, 104.0), (104.0, 104.0), exits=(108.0, 108.0), rank=rank, **both)
        for rank in (0, 1)
    ]
    steps = _derived(rows, "synchronous")
    assert steps["server_update_s"].tolist() == [4.0, 4.0]
    assert _shares(steps) == [[0.0, 0.0], [2.0, 2.0], [2.0, 2.0]]


def test_a_push_taken_up_before_its_sender_knows_that_it_is_sent_did_not_queue(step_row):
    row = _pushes(step_row, (104.0,), (106.0,), (105.0,), (107.0,), (108.0,))
    assert _shares(_derived([row], "asynchronous")) == [[0.0], [2.0], [2.0]]


def test_a_step_that_pushed_nothing_communicates_nothing(step_row):
    several = _pushes(step_row, *[(104.0, 104.0)] * 3, (105.0, 105.0), (106.0, 106.0))
    alone = step_row(0, 2, exit_s=204.0)
    for kind in ("asynchronous", "synchronous"):
        steps = _derived([several, alone], kind, workers=1)
        assert steps["sync_s"].tolist() == [2.0, 0.0]
        assert steps["comm_s"].tolist() == [1.0, 0.0]


def test_where_clocks_differ_no_server_reading_is_subtracted(step_row):
    elsewhere = {"begins": (9.0, 10.0), "ends": (9.5, 10.5)}
    sent = {"sents": (104.0, 105.0), "exits": (107.0, 108.0)}
    apart = _pushes(step_row, (104.0, 105.0), **sent, **elsewhere)
    beside = _pushes(step_row, (103.0, 105.0), **sent, **elsewhere)
    for kind in ("asynchronous", "synchronous"):
        steps = _derived([apart, beside], kind, one_clock=False)
        assert steps["comm_s"].isna().all()
        assert steps["exposed_comm_s"].isna().all()
        assert steps["exposed_sync_s"].tolist() == [4.0, 4.0]
        # of what is applied beside computing nobody knows what it hides
        assert steps["exposed_server_update_s"].tolist() == [1.0, 0.0]


TIMES = st.lists(st.floats(0.0, 10.0), min_size=5, max_size=5).map(sorted)


@st.composite
def trials(draw, make_row):
    """Rows of one step, with as many shards each, at moments in any order that can be."""
    shards = draw(st.integers(1, 4))
    rows = []
    for rank in range(draw(st.integers(1, 3))):
        moments = [draw(TIMES) for _ in range(shards)]
        own = [tuple(100.0 + shard[stage] for shard in moments) for stage in range(5)]
        enters, sents, begins, ends, exits = own
        if draw(st.booleans()):  # known to be sent only when its answer is there
            sents = exits
        rows.append(
            _pushes(
                make_row, enters, sents, begins, ends, exits, rank=rank,
                compute_s=draw(st.floats(0.0, 12.0)), end_s=113.0, update_s=draw(st.floats(0, 1)),
            )._replace(enter_s=min(enters), exit_s=max(exits))
        )  # fmt: skip
    return rows


@pytest.mark.parametrize("one_clock", [True, False])
@pytest.mark.parametrize("kind", ["synchronous", "asynchronous"])
def test_shares_are_never_negative_and_add_up(kind, one_clock, step_row):
    @settings(max_examples=50, deadline=None)
    @given(rows=trials(step_row))
    def check(rows):
        for row in _derived(rows, kind, one_clock=one_clock).to_dict("records"):
            exposed_comm_s = row["exposed_comm_s"]
            assert row["sync_s"] >= row["exposed_sync_s"] >= 0.0
            assert 0.0 <= row["exposed_server_update_s"] <= row["exposed_sync_s"] + 1e-9
            assert math.isnan(exposed_comm_s) or one_clock or kind == "synchronous"
            if math.isnan(exposed_comm_s):
                assert not one_clock
                continue
            assert 0.0 <= exposed_comm_s <= row["comm_s"] + 1e-9
            assert row["comm_s"] <= row["sync_s"] + 1e-9
            assert row["exposed_wait"] >= -1e-9
            if one_clock:
                assert exposed_comm_s == pytest.approx(_looked_at(row, rows, kind), abs=1e-6)

    check()


def _looked_at(row, rows, kind):
    """Return exposed_comm_s by looking at the middle of every stretch between two moments."""
    flights = []
    for shard, enter in enumerate(row["enters"]):
        begin, end, exit_ = (row[name][shard] for name in ("update_begins", "update_ends", "exits"))
        if kind == "asynchronous":
            wait = (row["sents"][shard], begin)
        else:
            wait = (enter, max(other.enters[shard] for other in rows))
        flights.append(((enter, exit_), wait, (max(begin, wait[1]), end)))

    def on_its_way(moment, flight):
        inside, *not_inside = (begin < moment < end for begin, end in flight)
        return inside and not any(not_inside)

    computed = row["begin_s"] + row["compute_s"]
    moments = {computed, *(moment for flight in flights for stage in flight for moment in stage)}
    return sum(
        right - left
        for left, right in itertools.pairwise(sorted(moments))
        if left >= computed and any(on_its_way((left + right) / 2, flight) for flight in flights)
    )
