"""What the busiest rank and host send, in chunks, against the closed forms."""

import numpy as np
import pytest

from psbench.schedules import (
    direct,
    halving_doubling,
    hierarchical_leaders,
    hierarchical_rails,
    recursive_doubling,
    star,
    traffic,
)


def core(world):
    """Return the largest power of two up to `world`, and its logarithm."""
    return 1 << (world.bit_length() - 1), world.bit_length() - 1


@pytest.mark.parametrize("num_chunks", [None, 3])
def test_recursive_doubling_sends_the_vector_lg_p_times(num_chunks):
    for world in range(2, 65):
        size, levels = core(world)
        schedule = recursive_doubling(world, num_chunks)
        counts = traffic(schedule)
        folds = size < world
        assert counts.messages_sent.max() == counts.messages_received.max() == levels + folds
        assert counts.chunks_sent.max() == (levels + folds) * schedule.num_chunks
        assert len(list(schedule.rounds)) == levels + 2 * folds


@pytest.mark.parametrize("per_segment", [1, 3])
def test_halving_doubling_sends_what_a_ring_does_and_a_vector_for_a_folded_rank(per_segment):
    for world in range(2, 65):
        size, levels = core(world)
        num_chunks = size * per_segment
        counts = traffic(halving_doubling(world, num_chunks))
        own = 2 * (size - 1) * per_segment
        folded = 2 * (world - size)
        expected = [num_chunks, own + num_chunks] * (folded // 2) + [own] * (world - folded)
        assert counts.chunks_sent.tolist() == counts.chunks_received.tolist() == expected
        assert counts.messages_sent.max() == 2 * levels + (folded > 0)
    # (3 - 2/p') n, p' = 4
    assert traffic(halving_doubling(7)).chunks_sent.max() / 4 == 3 - 2 / 4


def test_halving_doubling_exchanges_the_most_with_the_next_rank():
    first, second, third, *_ = halving_doubling(8).rounds
    for round_, gap, chunks in ((first, 1, 4), (second, 2, 2), (third, 4, 1)):
        assert np.array_equal(round_.dst, round_.src ^ gap)
        assert set((round_.stop - round_.start).tolist()) == {chunks}


@pytest.mark.parametrize("per_part", [1, 3])
def test_direct_sends_the_least_in_two_rounds(per_part):
    for world in range(2, 33):
        schedule = direct(world, world * per_part)
        counts = traffic(schedule)
        for chunks in (counts.chunks_sent, counts.chunks_received):
            assert chunks.tolist() == [2 * (world - 1) * per_part] * world
        assert counts.messages_sent.tolist() == [2 * (world - 1)] * world
        assert len(list(schedule.rounds)) == 2


def test_direct_gives_no_port_two_messages_at_a_time():
    for round_ in direct(7).rounds:
        for hop in range(6):  # seven transfers for each place in the order
            assert sorted(round_.src[7 * hop : 7 * hop + 7]) == list(range(7))
            assert sorted(round_.dst[7 * hop : 7 * hop + 7]) == list(range(7))


@pytest.mark.parametrize("roots", [1, 2, 3, 5])
def test_the_roots_of_a_star_send_its_part_to_all(roots):
    for world in range(roots, 33):
        counts = traffic(star(world, 2 * roots, roots=roots))
        to_roots = [2 * (roots - 1)] * roots + [2 * roots] * (world - roots)
        from_roots = [2 * (world - 1)] * roots + [0] * (world - roots)
        expected = np.add(to_roots, from_roots).tolist()
        assert counts.chunks_sent.tolist() == counts.chunks_received.tolist() == expected


def test_a_root_adds_the_ranks_in_order_from_itself_on():
    gather, _ = star(5, roots=2).rounds
    assert gather.src[gather.dst == 0].tolist() == [1, 2, 3, 4]
    assert gather.src[gather.dst == 1].tolist() == [2, 3, 4, 0]


def crossing(schedule, ranks_per_host):
    """Return the chunks that leave, and that enter, each host."""
    counts = np.zeros((2, -(-schedule.world // ranks_per_host)), np.int64)
    for round_ in schedule.rounds:
        src, dst = round_.src // ranks_per_host, round_.dst // ranks_per_host
        out = src != dst
        for side, host in enumerate((src, dst)):
            np.add.at(counts[side], host[out], (round_.stop - round_.start)[out])
    return counts


@pytest.mark.parametrize("algorithm", [hierarchical_leaders, hierarchical_rails])
@pytest.mark.parametrize("world", [6, 7, 16, 25])
@pytest.mark.parametrize("ranks_per_host", [1, 2, 3, 4, 6])
def test_a_host_sends_what_a_rank_of_a_ring_does(algorithm, world, ranks_per_host):
    hosts = -(-world // ranks_per_host)
    schedule = algorithm(world, hosts * ranks_per_host, ranks_per_host=ranks_per_host)
    expected = [2 * (hosts - 1) * ranks_per_host] * hosts  # 2 (m - 1)/m n
    assert crossing(schedule, ranks_per_host).tolist() == [expected, expected]


@pytest.mark.parametrize(("hosts", "size"), [(1, 4), (3, 1), (2, 4), (5, 3)])
def test_rails_share_a_host_s_traffic_evenly(hosts, size):
    counts = traffic(hierarchical_rails(hosts * size, ranks_per_host=size))
    inside, across = 2 * (size - 1) * hosts, 2 * (hosts - 1)
    assert counts.chunks_sent.tolist() == [inside + across] * hosts * size


def test_a_smaller_host_s_ranks_carry_several_rails():
    schedule = hierarchical_rails(7, ranks_per_host=4)  # on hosts of 4 and of 3
    across = [round_ for round_ in schedule.rounds if (round_.src // 4 != round_.dst // 4).any()]
    for round_ in across:
        last_host = round_.src[round_.src >= 4]
        assert last_host.tolist() == [4, 5, 6, 4]


@pytest.mark.parametrize(("size", "levels"), [(1, 0), (2, 1), (4, 2), (5, 3), (8, 3)])
def test_a_leader_sends_the_vector_down_its_tree_and_a_ring_s_share(size, levels):
    hosts = 3
    counts = traffic(hierarchical_leaders(hosts * size, hosts, ranks_per_host=size))
    leaders = counts.chunks_sent[::size].tolist()
    assert leaders == [levels * hosts + 2 * (hosts - 1)] * hosts
