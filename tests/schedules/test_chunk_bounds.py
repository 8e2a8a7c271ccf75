"""The even parts, and schedules that cost nothing until they are read."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.errors import ScheduleError, SpecError
from psbench.schedules import ALGORITHMS, COSTS, Schedule, ring, schedule_for, tree


@given(numel=st.integers(0, 10**15), num_chunks=st.integers(1, 1000))
def test_parts_are_even_and_cover_the_vector(numel, num_chunks):
    bounds = even_parts(numel, num_chunks)
    sizes = np.diff(bounds)
    assert bounds.dtype == np.int64
    assert (bounds[0], bounds[-1], len(sizes)) == (0, numel, num_chunks)
    assert sizes.min() >= 0
    assert sizes.max() - sizes.min() <= 1


@given(numel=st.integers(0, 10**6), outer=st.integers(1, 50), inner=st.integers(1, 50))
def test_parts_of_parts_are_parts_of_the_whole(numel, outer, inner):
    assert np.array_equal(even_parts(numel, outer * inner)[::inner], even_parts(numel, outer))


def test_small_tables():
    assert even_parts(0, 3).tolist() == [0, 0, 0, 0]
    assert even_parts(2, 3).tolist() == [0, 0, 1, 2]
    assert even_parts(10, 4).tolist() == [0, 2, 5, 7, 10]


def test_bounds_do_not_overflow():
    assert even_parts(2**62, 2**10)[-1] == 2**62


@pytest.mark.parametrize(("world", "num_chunks"), [(0, 1), (-1, 1), (1, 0)])
def test_a_schedule_of_nothing_is_refused(world, num_chunks):
    with pytest.raises(ScheduleError, match="at least 1"):
        Schedule(world=world, num_chunks=num_chunks, rounds=[])


def test_rounds_are_lazy_and_can_be_read_again():
    ring(10**12)  # nothing of this size is made
    schedule = ring(16384)
    for _ in range(2):
        first = list(itertools.islice(schedule.rounds, 3))
        assert [len(round_) for round_ in first] == [16384] * 3
        assert np.array_equal(first[0].start, (np.arange(16384) - 1) % 16384)
    assert [len(round_) for round_ in itertools.islice(tree(16384).rounds, 3)] == [
        1,
        1 + 8192,
        1 + 8192 + 4096,
    ]


def test_names_lead_to_schedules_and_costs():
    assert ALGORITHMS.keys() == COSTS.keys()
    assert schedule_for("tree", 5, 3).num_chunks == 3
    with pytest.raises(SpecError, match=r"'rng'; known: ring, tree; did you mean 'ring'\?"):
        schedule_for("rng", 4)
    with pytest.raises(SpecError, match=r"known: ring, tree$"):
        schedule_for("xxxxxx", 4)
