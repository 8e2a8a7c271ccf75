"""Two trees that share their ranks' ports: never two messages in or out at once, and half each."""

from collections import Counter

import numpy as np
import pytest

from psbench.schedules import double_tree, traffic
from psbench.schedules.double_tree import depth

WORLDS = [*range(1, 65), 127, 128, 129, 1000]


def edges(schedule):
    """Return the (src, dst) pairs of the reduction, chunk by chunk."""
    pairs = [set() for _ in range(schedule.num_chunks)]
    for round_ in schedule.rounds:
        for i in np.flatnonzero(round_.reduce):
            pairs[round_.start[i]].add((int(round_.src[i]), int(round_.dst[i])))
    return pairs


@pytest.mark.parametrize("num_chunks", [None, 1, 2, 5, 16])
def test_a_rank_sends_and_receives_at_most_once_a_round(num_chunks):
    for world in WORLDS:
        for round_ in double_tree(world, num_chunks).rounds:
            for ranks in (round_.src, round_.dst):
                assert len(np.unique(ranks)) == len(ranks), world
            assert np.array_equal(round_.stop - round_.start, np.ones(len(round_)))


def test_no_rank_is_inner_in_both_trees_but_one_above_both():
    for world in range(2, 65):
        trees = edges(double_tree(world, 2))
        assert [len(tree) for tree in trees] == [world - 1] * 2
        children = [Counter(dst for _, dst in tree) for tree in trees]
        assert set(children[0]) & set(children[1]) == ({0} if world % 2 else set())
        assert max((children[0] + children[1]).values()) <= 2


def test_trees_are_of_least_height():
    for world in range(2, 65):
        for tree in edges(double_tree(world, 2)):
            parent = dict(tree)
            for rank in range(world):
                steps = 0
                while rank in parent:
                    rank, steps = parent[rank], steps + 1
                assert steps <= (world - 1).bit_length()


@pytest.mark.parametrize("num_chunks", [2, 8, 40])
def test_rounds(num_chunks):
    for world in range(2, 65):
        rounds = list(double_tree(world, num_chunks).rounds)
        assert all(len(round_) for round_ in rounds)
        assert len(rounds) == 2 * (num_chunks + depth(world) - 1)
        assert depth(world) < 2 * (world - 1).bit_length()


@pytest.mark.parametrize("num_chunks", [2, 8])
def test_the_busiest_ranks_send_two_vectors(num_chunks):
    for world in range(4, 65):
        counts = traffic(double_tree(world, num_chunks))
        assert counts.chunks_sent.max() == counts.chunks_received.max() == 2 * num_chunks
        assert (counts.chunks_sent >= num_chunks).all()
    # Three ranks: one above both roots, which have one child each.
    assert traffic(double_tree(3, 2)).chunks_sent.tolist() == [2, 3, 3]


def test_the_reduction_is_the_broadcast_backwards_with_the_first_chunks_first():
    rounds = list(double_tree(13, 6).rounds)
    half = len(rounds) // 2
    for up, down in zip(rounds[:half], reversed(rounds[half:]), strict=True):
        assert up.reduce.all()
        assert not down.reduce.any()
        assert np.array_equal(up.src, down.dst)
        assert np.array_equal(up.dst, down.src)
        own = np.where(down.start < 3, 0, 3)  # the first chunk of the edge's tree, of six
        assert np.array_equal(up.start - own, 2 - (down.start - own))
