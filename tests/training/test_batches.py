"""Global batches: every sample once an epoch, whatever the order in which steps are asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.training.batches import GlobalBatches, rank_slice

SIZES = {"num_samples": st.integers(1, 40), "batch": st.integers(1, 100)}


def batches(num_samples, batch, seed=0, repeat=0):
    return GlobalBatches(num_samples, batch, seed=seed, repeat=repeat)


@given(**SIZES, seed=st.integers(0, 2**70), repeat=st.integers(0, 9))
def test_each_epoch_has_every_sample_once(num_samples, batch, seed, repeat):
    source = batches(num_samples, batch, seed, repeat)
    steps = -(-3 * num_samples // batch)
    drawn = [source.indices(step) for step in range(steps)]
    assert all(indices.shape == (batch,) for indices in drawn)
    stream = np.concatenate(drawn)
    assert stream.dtype == np.int64
    for epoch in range(3):
        part = stream[epoch * num_samples : (epoch + 1) * num_samples]
        assert sorted(part.tolist()) == list(range(num_samples))


@given(**SIZES, order=st.lists(st.integers(0, 30), min_size=1, max_size=20))
def test_a_step_does_not_depend_on_those_asked_for_before(num_samples, batch, order):
    source = batches(num_samples, batch)
    for step in order:
        fresh = batches(num_samples, batch).indices(step)
        assert np.array_equal(source.indices(step), fresh)


def test_the_stream_of_samples_does_not_depend_on_the_batch_size():
    small = np.concatenate([batches(100, 7).indices(step) for step in range(40)])
    large = np.concatenate([batches(100, 140).indices(step) for step in range(2)])
    assert np.array_equal(small, large)


def test_seed_and_repeat_each_give_another_order():
    orders = [
        batches(1000, 1000, seed, repeat).indices(step).tolist()
        for seed in (0, 1, 2)
        for repeat in (0, 1, 2)
        for step in (0, 1)
    ]
    assert len({tuple(order) for order in orders}) == len(orders)


@given(batch=st.integers(0, 1000), world=st.integers(1, 40))
def test_rank_slices_are_the_batch_once(batch, world):
    parts = [list(range(batch))[rank_slice(batch, world, rank)] for rank in range(world)]
    assert [i for part in parts for i in part] == list(range(batch))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("world", [1, 2, 4])
def test_a_batch_that_divides_gives_equal_slices(world):
    assert [rank_slice(8, world, r).stop - rank_slice(8, world, r).start for r in range(world)] == [
        8 // world
    ] * world
