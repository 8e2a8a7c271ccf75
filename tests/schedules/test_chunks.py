"""The number of chunks that a cost formula makes cheapest, against trying them all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psbench.errors import SpecError
from psbench.schedules import COSTS, pipelined_chunks
from psbench.schedules.chunks import MAX_CHUNKS

LINK = {"latency": 50e-6, "overhead": 3e-6, "byte_time": 8e-9, "reduce_time": 0.0}


def seconds(low, high):
    return st.just(0.0) | st.floats(low, high)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["tree", "double_tree"]),
    world=st.integers(2, 70),
    nbytes=st.floats(0, 1e5),
    latency=seconds(0.1, 1000),
    overhead=st.floats(0.5, 100),
    byte_time=seconds(0.01, 1),
    reduce_time=seconds(0.01, 3),
)
def test_no_number_is_cheaper(name, world, nbytes, latency, overhead, byte_time, reduce_time):
    link = {"latency": latency, "overhead": overhead}
    link |= {"byte_time": byte_time, "reduce_time": reduce_time}

    def cost(num_chunks):
        return COSTS[name](world, nbytes, num_chunks=num_chunks, **link)

    found = pipelined_chunks(name, world, nbytes, **link)
    tried = {*range(1, 60), *(found + step for step in range(-20, 21)), *range(60, 1025, 37)}
    least = min(cost(number) for number in tried if 1 <= number <= MAX_CHUNKS)
    assert cost(found) <= least * (1 + 1e-12)


def test_the_tree_s_root_in_closed_form():
    # 4 (h + c - 1)(o + n beta / c), h = 6, n beta = 32 ms, o = 3 us: c = sqrt(5 x 32000 / 3) = 231
    assert pipelined_chunks("tree", 127, 4e6, **LINK) == 231


def test_larger_vectors_take_more_chunks():
    for name in ("tree", "double_tree"):
        found = [pipelined_chunks(name, 32, nbytes, **LINK) for nbytes in (0, 1e4, 1e6, 1e8)]
        assert found == sorted(found)
        assert 1 <= found[0] <= 2
        assert found[-1] > 100


@pytest.mark.parametrize("name", ["tree", "double_tree"])
def test_where_messages_are_free_there_is_a_limit(name):
    free = {**LINK, "latency": 0.0, "overhead": 0.0}
    assert pipelined_chunks(name, 32, 1e6, **free) == MAX_CHUNKS


def test_algorithms_without_a_pipeline_have_their_own():
    assert pipelined_chunks("ring", 5, 1e6, **LINK) == 5
    assert pipelined_chunks("halving_doubling", 5, 1e6, **LINK) == 4
    assert pipelined_chunks("star", 5, 1e6, **LINK, roots=3) == 3
    assert pipelined_chunks("hierarchical_rails", 6, 1e6, **LINK, ranks_per_host=2) == 6
    assert pipelined_chunks("tree", 1, 1e6, **LINK) == 4
    with pytest.raises(SpecError, match="unknown algorithm 'rign'"):
        pipelined_chunks("rign", 5, 1e6, **LINK)
