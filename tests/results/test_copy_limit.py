"""How fast memory is copied, by one and by two at once."""

import os

from psbench.results import copy_limit


def test_it_is_measured_where_it_is_asked_for():
    before = os.sched_getaffinity(0)
    first = min(before)
    limit = copy_limit([first])
    assert limit.two is None
    assert 1e8 < limit.one < 1e13
    assert os.sched_getaffinity(0) == before


def test_two_at_once_are_measured_where_there_are_two_cores():
    limit = copy_limit()
    assert (limit.two is None) == (len(os.sched_getaffinity(0)) == 1)
