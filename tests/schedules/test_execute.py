"""The oracle against numpy's sum, and its own promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psbench.schedules import ALGORITHMS, OPTIONS, Round, Schedule, execute, ring, schedule_for

WORLDS = [1, 2, 3, 5, 7]


def one_round(world, src, dst, *, reduce):
    """Return the schedule in which each `src[i]` sends its one chunk to `dst[i]`, all at once."""
    zeros = np.zeros(len(src), np.int64)
    round_ = Round(
        src=np.array(src),
        dst=np.array(dst),
        start=zeros,
        stop=zeros + 1,
        reduce=np.full(len(src), reduce),
    )
    return Schedule(world=world, num_chunks=1, rounds=[round_])


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int64])
def test_sums_integers_exactly(name, world, dtype):
    rng = np.random.default_rng(world)
    for numel in (0, 1, world - 1, world, world + 1, 101):
        arrays = list(rng.integers(-100, 100, (world, numel)).astype(dtype))
        results = execute(schedule_for(name, world), arrays)
        assert len(results) == world
        for result in results:
            assert result.dtype == dtype
            assert np.array_equal(result, np.sum(arrays, axis=0))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("num_chunks", [None, 1, 4])
def test_random_floats_have_the_same_bits_on_all_ranks(name, world, num_chunks):
    arrays = list(np.random.default_rng(0).standard_normal((world, 103)).astype(np.float32))
    results = execute(schedule_for(name, world, num_chunks), arrays)
    assert len({result.tobytes() for result in results}) == 1
    exact = np.sum(arrays, axis=0, dtype=np.float64)
    np.testing.assert_allclose(results[0], exact, rtol=0, atol=1e-5)


@st.composite
def schedules(draw):
    """Return any algorithm's schedule, its options drawn too."""
    name, world = draw(st.sampled_from(sorted(ALGORITHMS))), draw(st.integers(1, 20))
    drawn = {"roots": st.integers(1, world), "ranks_per_host": st.integers(1, world + 1)}
    options = {option: draw(st.none() | drawn[option]) for option in OPTIONS.get(name, ())}
    return schedule_for(name, world, draw(st.none() | st.integers(1, 30)), **options)


@settings(max_examples=200, deadline=None)
@given(schedule=schedules(), numel=st.integers(0, 60), seed=st.integers(0, 2**32 - 1))
def test_any_world_chunks_and_length(schedule, numel, seed):
    rng = np.random.default_rng(seed)
    integers = list(rng.integers(-(2**40), 2**40, (schedule.world, numel)))
    for result in execute(schedule, integers):
        assert np.array_equal(result, np.sum(integers, axis=0))
    floats = list(rng.standard_normal((schedule.world, numel)).astype(np.float32))
    assert len({result.tobytes() for result in execute(schedule, floats)}) == 1


@pytest.mark.parametrize("name", ALGORITHMS)
def test_nan_and_infinity_reach_every_rank(name):
    arrays = [np.ones(11, np.float32) for _ in range(5)]
    arrays[3][4] = np.nan
    arrays[1][7] = np.inf
    for result in execute(schedule_for(name, 5), arrays):
        assert np.flatnonzero(np.isnan(result)).tolist() == [4]
        assert np.flatnonzero(np.isinf(result)).tolist() == [7]


def test_strided_inputs_are_read_and_left_alone():
    matrix = np.arange(21.0).reshape(7, 3)
    before = matrix.copy()
    matrix.flags.writeable = False
    results = execute(ring(3), [matrix[:, rank] for rank in range(3)])
    assert np.array_equal(matrix, before)
    for result in results:
        assert result.flags.c_contiguous
        assert np.array_equal(result, before.sum(axis=1))
    (alone,) = execute(ring(1), [matrix[::-1, 0]])
    assert alone.flags.c_contiguous
    assert not np.shares_memory(alone, matrix)


def test_reduces_are_added_in_array_order():
    big, small = np.float32([2**24]), np.float32([1])
    arrays = [big, small, small, -big]
    # ((2^24 + 1) + 1) - 2^24 loses both ones; in the other order they are kept.
    assert execute(one_round(4, [1, 2, 3], [0, 0, 0], reduce=True), arrays)[0].item() == 0
    assert execute(one_round(4, [3, 2, 1], [0, 0, 0], reduce=True), arrays)[0].item() == 2


def test_sends_read_the_values_from_before_the_round():
    arrays = [np.array([float(rank)]) for rank in range(3)]
    results = execute(one_round(3, [0, 1, 2], [1, 2, 0], reduce=False), arrays)
    assert [result.item() for result in results] == [2, 0, 1]


def test_arrays_that_do_not_fit_are_refused():
    one = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="1 arrays for a world of 2"):
        execute(ring(2), [one])
    for other in (np.zeros(4, np.float32), np.zeros(3), np.zeros((3, 1), np.float32)):
        with pytest.raises(ValueError, match=r"rank 1 has .*, rank 0 has float32\[3\]"):
            execute(ring(2), [one, other])
