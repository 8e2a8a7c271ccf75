"""Bytes and messages for a vector of known length."""

import numpy as np
import pytest

from psbench.schedules import ALGORITHMS, ring, traffic, tree


def by_hand(schedule, numel, itemsize):
    """Count transfer by transfer; chunk sizes by their definition, as even parts."""
    bounds = [c * numel // schedule.num_chunks for c in range(schedule.num_chunks + 1)]
    nbytes, messages = np.zeros((2, schedule.world), int), np.zeros((2, schedule.world), int)
    for round_ in schedule.rounds:
        for src, dst, start, stop in zip(
            round_.src, round_.dst, round_.start, round_.stop, strict=True
        ):
            elements = bounds[stop] - bounds[start]
            for side, rank in ((0, src), (1, dst)):
                nbytes[side, rank] += elements * itemsize
                messages[side, rank] += elements > 0
    return nbytes, messages


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(("world", "num_chunks"), [(1, 2), (2, None), (5, 3), (7, 11)])
@pytest.mark.parametrize("numel", [0, 1, 4, 101])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_counts_equal_those_by_hand(name, world, num_chunks, numel, itemsize):
    schedule = ALGORITHMS[name](world, num_chunks)
    counts = traffic(schedule, numel, itemsize)
    nbytes, messages = by_hand(schedule, numel, itemsize)
    assert np.array_equal([counts.bytes_sent, counts.bytes_received], nbytes)
    assert np.array_equal([counts.messages_sent, counts.messages_received], messages)


@pytest.mark.parametrize("world", [2, 3, 8])
def test_ring_bytes_in_closed_form(world):
    counts = traffic(ring(world), numel=world * 10, itemsize=4)
    assert counts.bytes_sent.tolist() == [2 * (world - 1) * 10 * 4] * world


def test_tree_bytes_in_closed_form():
    counts = traffic(tree(7, 4), numel=1001, itemsize=4)
    assert (counts.bytes_sent // 4004).tolist() == [2, 3, 3, 1, 1, 1, 1]
    assert (counts.bytes_sent % 4004).tolist() == [0] * 7


def test_a_transfer_without_elements_is_a_chunk_but_no_message():
    counts = traffic(ring(4), numel=0)
    assert counts.messages_sent.tolist() == counts.bytes_sent.tolist() == [0] * 4
    assert counts.chunks_sent.tolist() == [6] * 4


def test_without_a_length_there_are_no_bytes():
    counts = traffic(ring(4))
    assert counts.bytes_sent is None
    assert counts.bytes_received is None
    assert counts.messages_sent.dtype == counts.chunks_sent.dtype == np.int64


def test_counts_do_not_pass_through_floats():
    numel = 2**53 + 1
    assert traffic(tree(2, 1), numel, itemsize=1).bytes_sent.tolist() == [numel, numel]
