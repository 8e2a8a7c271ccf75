"""Schedules cost nothing until they are read, and are found by name."""

import itertools

import numpy as np
import pytest

from psbench.errors import ScheduleError, SpecError
from psbench.schedules import ALGORITHMS, COSTS, OPTIONS, Schedule, ring, schedule_for, tree

HIERARCHICAL = ("hierarchical_leaders", "hierarchical_rails")


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


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"direct"}))
def test_a_large_world_costs_little(name):
    options = {"ranks_per_host": 2} if name in HIERARCHICAL else {}
    schedule = schedule_for(name, 16384, **options)
    for round_ in itertools.islice(schedule.rounds, 3):
        assert 0 < len(round_) <= 2 * 16384
    schedule_for(name, 10**12)


def test_direct_costs_little_until_it_is_read():
    assert schedule_for("direct", 16384).num_chunks == 16384  # a round has 268 million transfers


def test_names_lead_to_schedules_and_costs():
    assert ALGORITHMS.keys() == COSTS.keys()
    assert ALGORITHMS.keys() >= OPTIONS.keys()
    assert schedule_for("tree", 5, 3).num_chunks == 3
    with pytest.raises(SpecError, match=r"'rng'; known: ring, tree, .*; did you mean 'ring'\?"):
        schedule_for("rng", 4)
    with pytest.raises(SpecError, match=r"known: ring, tree, .*, hierarchical_rails$"):
        schedule_for("xxxxxx", 4)


def test_defaults_stay_as_they_were_published():
    chunks = {name: schedule_for(name, 6).num_chunks for name in ALGORITHMS}
    assert chunks == {
        "ring": 6,
        "tree": 4,
        "double_tree": 8,
        "recursive_doubling": 1,
        "halving_doubling": 4,
        "direct": 6,
        "star": 1,
        "hierarchical_leaders": 1,
        "hierarchical_rails": 6,
    }


def test_options_go_to_the_algorithms_that_take_them():
    assert schedule_for("star", 6, roots=3).num_chunks == 3
    assert schedule_for("star", 6, roots=None, ranks_per_host=None).num_chunks == 1
    assert schedule_for("hierarchical_leaders", 6, ranks_per_host=2).num_chunks == 3
    for name, option, takers in (
        ("ring", "roots", "star does"),
        ("star", "ranks_per_host", "hierarchical_leaders, hierarchical_rails do"),
    ):
        with pytest.raises(SpecError, match=f"^{name} takes no {option}; {takers}$"):
            schedule_for(name, 6, **{option: 2})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("star", {"roots": 5}, "a star of 4 ranks has 1 to 4 roots, not 5"),
        ("star", {"roots": 0}, "1 to 4 roots, not 0"),
        ("hierarchical_rails", {"ranks_per_host": 0}, "a host has at least 1 rank, not 0"),
        ("hierarchical_leaders", {"ranks_per_host": -1}, "at least 1 rank, not -1"),
    ],
)
def test_options_that_cannot_be_are_refused(name, options, message):
    with pytest.raises(ScheduleError, match=message):
        schedule_for(name, 4, **options)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("world", [0, -1])
def test_no_algorithm_takes_a_world_of_nobody(name, world):
    with pytest.raises(ScheduleError, match="at least 1 rank"):
        schedule_for(name, world)
    with pytest.raises(ScheduleError, match="at least 1 chunk"):
        schedule_for(name, 3, 0)
