"""Lowered schedules carried out step by step, in random order, with every race looked for."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psbench.live.lowering import SECOND, VECTOR, Move, Place, Wait, lower
from psbench.parts import even_parts
from psbench.schedules import ALGORITHMS, Round, Schedule, execute, schedule_for

WORLDS = [1, 2, 3, 5, 7, 8]


def round_of(*transfers):
    """Return the round of (src, dst, start, stop, reduce) tuples."""
    columns = [np.array(column) for column in zip(*transfers, strict=True)]
    names = ("src", "dst", "start", "stop", "reduce")
    return Round(**dict(zip(names, columns, strict=True)))


class Machine:
    """Ranks that carry out their steps; a move takes two moments, reading and writing."""

    def __init__(self, lowered, arrays, num_chunks):
        self.bounds = even_parts(len(arrays[0]), num_chunks)
        self.steps = lowered.steps
        self.memory = [[array.copy(), np.full_like(array, 99)] for array in arrays]
        self.at = [0] * len(arrays)
        self.done = [-1] * len(arrays)
        self.half_done = [None] * len(arrays)
        self.entered = [False] * len(arrays)

    def part(self, place, move):
        return self.memory[place.rank][place.buffer][
            self.bounds[move.start] : self.bounds[move.stop]
        ]

    def able(self, rank):
        """Whether a rank can go on."""
        if not self.entered[rank]:
            return True
        if self.at[rank] == len(self.steps[rank]):
            return False
        step = self.steps[rank][self.at[rank]]
        if isinstance(step, Move):
            return True
        return self.entered[step.peer] and self.done[step.peer] >= step.number

    def go_on(self, rank):
        if not self.entered[rank]:
            self.entered[rank] = True
            return
        step = self.steps[rank][self.at[rank]]
        if isinstance(step, Wait):
            self.at[rank] += 1
        elif self.half_done[rank] is None:
            self.check_alone(rank, step)
            total = self.part(step.sources[0], step).copy()
            for source in step.sources[1:]:
                np.add(total, self.part(source, step), out=total)
            self.half_done[rank] = (step, total)
        else:
            _, total = self.half_done[rank]
            for place in step.destinations:
                self.part(place, step)[:] = total
            self.half_done[rank] = None
            self.done[rank] = step.number
            self.at[rank] += 1

    def check_alone(self, rank, move):
        """No other rank is in the midst of a move that touches what this one writes, or writes
        what this one touches; and all whose memory it touches have entered, and none has left."""
        for place in (*move.sources, *move.destinations):
            assert self.entered[place.rank]
            finished = self.at[place.rank] == len(self.steps[place.rank])
            assert place.rank == rank or not finished
        for other, running in enumerate(self.half_done):
            if running is None or other == rank:
                continue
            theirs = running[0]
            if theirs.start < move.stop and move.start < theirs.stop:
                touched = {*theirs.sources, *theirs.destinations}
                assert not touched & set(move.destinations)
                assert not set(theirs.destinations) & {*move.sources, *move.destinations}

    def run(self, seed):
        pick = random.Random(seed)
        while able := [rank for rank in range(len(self.at)) if self.able(rank)]:
            self.go_on(pick.choice(able))
        assert all(at == len(steps) for at, steps in zip(self.at, self.steps, strict=True))
        return [buffers[VECTOR] for buffers in self.memory]


def inputs(world, numel=23, seed=0):
    values = np.random.default_rng(seed).standard_normal((world, numel))
    return list(values.astype(np.float32))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("num_chunks", [None, 1, 3])
def test_any_order_gives_the_bits_of_the_schedule(name, world, num_chunks):
    schedule = schedule_for(name, world, num_chunks)
    arrays = inputs(world)
    expected = execute(schedule, arrays)
    lowered = lower(schedule)
    for seed in range(5):
        results = Machine(lowered, arrays, schedule.num_chunks).run(seed)
        for result, wanted in zip(results, expected, strict=True):
            assert result.tobytes() == wanted.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(ALGORITHMS)),
    world=st.integers(1, 9),
    num_chunks=st.integers(1, 9),
    numel=st.integers(0, 30),
    seed=st.integers(0, 2**31),
)
def test_all_of_it_whatever_the_sizes(name, world, num_chunks, numel, seed):
    schedule = schedule_for(name, world, num_chunks)
    arrays = inputs(world, numel, seed)
    results = Machine(lower(schedule), arrays, num_chunks).run(seed)
    assert [r.tobytes() for r in results] == [r.tobytes() for r in execute(schedule, arrays)]


def both_ways():
    """Two ranks that send and reduce one chunk in one round."""
    return Schedule(
        world=2, num_chunks=1, rounds=[round_of((0, 1, 0, 1, True), (1, 0, 0, 1, True))]
    )


def test_what_others_read_in_the_round_in_which_it_changes_goes_to_the_second_buffer():
    lowered = lower(both_ways())
    assert lowered.renamed
    first, settled = (step for step in lowered.steps[0] if isinstance(step, Move))
    assert first.sources == [Place(0, VECTOR), Place(1, VECTOR)]
    assert first.destinations == [Place(0, SECOND)]
    assert settled.destinations == [Place(0, VECTOR)]
    for seed in range(20):
        results = Machine(lowered, inputs(2), 1).run(seed)
        assert results[0].tobytes() == results[1].tobytes()


def test_a_ring_that_passes_everything_on_at_once():
    """Each rank overwrites its neighbour's value and its own is overwritten, all in one round."""
    around = round_of(*((rank, (rank + 1) % 5, 0, 2, False) for rank in range(5)))
    schedule = Schedule(world=5, num_chunks=2, rounds=[around, around])
    arrays = inputs(5, 7)
    for seed in range(20):
        results = Machine(lower(schedule), arrays, 2).run(seed)
        assert [r.tobytes() for r in results] == [arrays[(r - 2) % 5].tobytes() for r in range(5)]


def random_schedule(draw):
    """Return any well-formed schedule, an all-reduce or not."""
    world, num_chunks = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    rounds = []
    for _ in range(draw(st.integers(1, 5))):
        transfers, taken = [], {}
        for _ in range(draw(st.integers(1, 8))):
            src, dst = draw(st.permutations(range(world)))[:2]
            start = draw(st.integers(0, num_chunks - 1))
            stop = draw(st.integers(start + 1, num_chunks))
            reduce = draw(st.booleans())
            there = [taken.get((dst, chunk)) for chunk in range(start, stop)]
            if all(kind is None or (kind and reduce) for kind in there):
                taken |= {(dst, chunk): reduce for chunk in range(start, stop)}
                transfers.append((src, dst, start, stop, reduce))
        rounds.append(round_of(*transfers))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_any_schedule_at_all(data, seed):
    schedule = random_schedule(data.draw)
    arrays = inputs(schedule.world, 9, seed)
    results = Machine(lower(schedule), arrays, schedule.num_chunks).run(seed)
    assert [r.tobytes() for r in results] == [r.tobytes() for r in execute(schedule, arrays)]


def test_a_sum_is_read_once_and_stored_where_it_goes():
    (step,) = (
        step for step in lower(schedule_for("tree", 3, 1)).steps[0] if isinstance(step, Move)
    )
    assert step.sources == [Place(0, VECTOR), Place(1, VECTOR), Place(2, VECTOR)]
    assert step.destinations == [Place(0, VECTOR), Place(1, VECTOR), Place(2, VECTOR)]


def test_nothing_is_waited_for_twice():
    for own in lower(schedule_for("ring", 5, 10)).steps:
        waits = [(step.peer, step.number) for step in own if isinstance(step, Wait)]
        for peer in range(5):
            numbers = [number for other, number in waits if other == peer]
            assert numbers == sorted(set(numbers))
