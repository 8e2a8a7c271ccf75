"""Vectors with known sums: exact in every order, and telling of what went wrong."""

import pytest
import torch

from psbench.errors import SpecError
from psbench.live.bench.integers import DTYPES, KnownSums

NUMEL = 1000


def contributions(sums, world, call, dtype):
    vectors = [torch.empty(NUMEL, dtype=DTYPES[dtype]) for _ in range(world)]
    for rank, vector in enumerate(vectors):
        sums.fill(vector, rank=rank, call=call)
    return vectors


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("world", [1, 2, 3, 8, 64])
def test_every_partial_sum_is_exact(dtype, world):
    sums = KnownSums(NUMEL, dtype=dtype, world=world)
    vectors = contributions(sums, world, 4, dtype)
    total = torch.stack([vector.to(torch.float64) for vector in vectors]).sum(0)
    for order in (vectors, vectors[::-1]):
        added = order[0].clone()
        for vector in order[1:]:
            added.add_(vector)
        assert torch.equal(added.to(torch.float64), total)
        assert sums.count_wrong(added, call=4) == 0


def test_what_is_lost_doubled_stale_or_out_of_place_is_counted():
    sums = KnownSums(NUMEL, dtype="float32", world=3)
    a, b, c = contributions(sums, 3, 0, "float32")
    assert sums.count_wrong(a + b, call=0) == NUMEL
    assert sums.count_wrong(a + b + c + c, call=0) == NUMEL
    assert sums.count_wrong(a + b + b, call=0) > 0.99 * NUMEL
    assert sums.count_wrong(a + b + c, call=1) > 0.99 * NUMEL
    assert sums.count_wrong((a + b + c).roll(1), call=0) > 0.99 * NUMEL
    one = a + b + c
    one[7] += 1
    assert sums.count_wrong(one, call=0) == 1


def test_a_shorter_vector_takes_the_first_elements():
    sums = KnownSums(NUMEL, dtype="int32", world=2)
    long, short = torch.empty(NUMEL, dtype=torch.int32), torch.empty(5, dtype=torch.int32)
    sums.fill(long, rank=1, call=2)
    sums.fill(short, rank=1, call=2)
    assert torch.equal(short, long[:5])
    assert sums.count_wrong(torch.empty(0, dtype=torch.int32), call=2) == 0


def test_too_few_digits_are_refused():
    with pytest.raises(SpecError, match="--dtype bfloat16 cannot hold the exact sum of 200 ranks"):
        KnownSums(1, dtype="bfloat16", world=200)
