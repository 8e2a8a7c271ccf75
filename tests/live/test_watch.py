"""Who is at fault, where nobody died: the rank that stays behind and does not complain."""

import time
from types import SimpleNamespace

import pytest

from psbench.errors import PeerTimeout
from psbench.live import watch
from psbench.live.host import Host
from psbench.live.placement import Member


def member(name):
    host = Host(name="here", pid=7, started="1", boot="b", pid_space="p", home="h", cores=(0,))
    return Member(name=name, is_rank=name.startswith("rank"), actor=None, host=host)


RANKS = [member(f"rank {i}") for i in range(3)]


def drains(steps, seconds_ago):
    moments = [time.monotonic() - ago for ago in seconds_ago]
    names = [rank.name for rank in RANKS]
    return SimpleNamespace(progress=dict(zip(names, zip(steps, moments, strict=True), strict=True)))


def test_ranks_that_move_are_left_alone():
    watch._check_progress(RANKS, drains([5, 4, 5], [1.0, 200.0, 1.0]))


def test_a_rank_that_does_not_move_is_named_not_those_that_wait_for_it():
    stuck = drains([5, 4, 5], [400.0, 401.0, 400.0])
    with pytest.raises(PeerTimeout, match=r"^rank 1 \(pid 7 on here\) finished no step for 300 s$"):
        watch._check_progress(RANKS, stuck)


def test_who_times_out_waiting_is_not_blamed_for_who_hangs(monkeypatch):
    monkeypatch.setattr(watch, "_silent", lambda members: [])
    progress = drains([5, 5, 4], [1.0, 1.0, 1.0]).progress
    complaint = PeerTimeout("receiving from rank 1: Timed out")
    with pytest.raises(PeerTimeout) as error:
        watch._blame(RANKS, [(RANKS[0], complaint), (RANKS[1], complaint)], progress)
    assert str(error.value).startswith("rank 2 (pid 7 on here) hangs; rank 0: receiving from")
