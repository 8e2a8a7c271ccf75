"""Every algorithm is an all-reduce for every world and number of chunks, and sends what it says."""

import numpy as np
import pytest

from psbench.schedules import ALGORITHMS, ring, star, traffic, tree, verify

CHUNKS = [None, 1, 2, 3, 4, 5, 6, 7]
HIERARCHICAL = ["hierarchical_leaders", "hierarchical_rails"]


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("num_chunks", CHUNKS)
def test_is_a_correct_all_reduce(name, num_chunks):
    for world in range(1, 65):
        verify(ALGORITHMS[name](world, num_chunks))


@pytest.mark.parametrize("name", HIERARCHICAL)
@pytest.mark.parametrize("ranks_per_host", [3, 8])
@pytest.mark.parametrize("num_chunks", CHUNKS)
def test_is_correct_over_hosts(name, ranks_per_host, num_chunks):
    for world in range(1, 65):
        verify(ALGORITHMS[name](world, num_chunks, ranks_per_host=ranks_per_host))


@pytest.mark.parametrize("name", HIERARCHICAL)
def test_is_correct_over_hosts_of_any_size(name):
    for world in range(1, 25):
        for ranks_per_host in range(1, world + 2):
            verify(ALGORITHMS[name](world, ranks_per_host=ranks_per_host))


@pytest.mark.parametrize("roots", [2, 3])
@pytest.mark.parametrize("num_chunks", CHUNKS)
def test_a_star_is_correct_with_several_roots(roots, num_chunks):
    for world in range(roots, 65):
        verify(star(world, num_chunks, roots=roots))


@pytest.mark.parametrize("name", ["ring", "halving_doubling", "double_tree"])
def test_is_correct_in_a_large_world(name):
    verify(ALGORITHMS[name](1024))
    verify(ALGORITHMS[name](1000, 64))


@pytest.mark.parametrize("name", ["ring", "tree", "double_tree", "star", "direct", *HIERARCHICAL])
@pytest.mark.parametrize("num_chunks", CHUNKS)
def test_sends_the_vector_once_up_and_once_down_a_tree_for_each_chunk(name, num_chunks):
    for world in range(1, 65):
        schedule = ALGORITHMS[name](world, num_chunks)
        counts = traffic(schedule)
        total = 2 * (world - 1) * schedule.num_chunks
        assert counts.chunks_sent.sum() == counts.chunks_received.sum() == total
        assert counts.messages_sent.sum() == counts.messages_received.sum()


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8, 64])
@pytest.mark.parametrize("per_segment", [1, 3])
def test_ring_sends_the_least_any_rank_can(world, per_segment):
    schedule = ring(world, world * per_segment)
    counts = traffic(schedule)
    for sent in (counts.chunks_sent, counts.chunks_received):
        assert sent.tolist() == [2 * (world - 1) * per_segment] * world
    for messages in (counts.messages_sent, counts.messages_received):
        assert messages.tolist() == [2 * (world - 1)] * world
    phases = [bool(round_.reduce[0]) for round_ in schedule.rounds]
    assert phases == [True] * (world - 1) + [False] * (world - 1)


def test_ring_leaves_the_sum_of_segment_s_at_rank_s_after_the_reduce_scatter():
    *_, last = (round_ for round_ in ring(5).rounds if round_.reduce.all())
    assert np.array_equal(last.start, last.dst)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 6, 7, 12, 15, 64])
@pytest.mark.parametrize("num_chunks", [1, 4, 9])
def test_tree_sends_a_vector_a_neighbour(world, num_chunks):
    counts = traffic(tree(world, num_chunks))
    neighbours = np.array(
        [sum(2 * r + c < world for c in (1, 2)) + (r > 0) for r in range(world)], dtype=np.int64
    )
    for sent in (counts.chunks_sent, counts.chunks_received, counts.messages_sent):
        assert np.array_equal(sent, neighbours * num_chunks)


@pytest.mark.parametrize(("world", "height"), [(2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (64, 6)])
@pytest.mark.parametrize("num_chunks", [1, 4, 9])
def test_tree_is_pipelined(world, height, num_chunks):
    rounds = list(tree(world, num_chunks).rounds)
    assert len(rounds) == 2 * (height + num_chunks - 1)
    for round_ in rounds:
        assert len(round_) > 0
        fan = round_.dst if round_.reduce[0] else round_.src  # parents, with two children each
        assert np.bincount(fan).max() <= 2
        edges = round_.src if round_.reduce[0] else round_.dst
        assert len(np.unique(edges)) == len(edges)


def test_a_world_of_one_has_no_rounds():
    for algorithm in ALGORITHMS.values():
        assert list(algorithm(1, 3).rounds) == []
