"""Schedules cost nothing until they are read, and are found by name."""

import itertools

import numpy as np
import pytest

from psbench.errors import ScheduleError, SpecError
from psbench.schedules import ALGORITHMS, COSTS, Schedule, ring, schedule_for, tree


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
