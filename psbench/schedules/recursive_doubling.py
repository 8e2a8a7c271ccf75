"""Recursive doubling: the fewest rounds in which all can hear of all, each with the whole vector.

In round k rank r and rank r xor 2^k exchange and add, so that sums of 2, 4, 8, ... ranks meet. With
p = 4:

    round 0    0 <-> 1    2 <-> 3    add
    round 1    0 <-> 2    1 <-> 3    add

Both sides of an exchange add the same two sums, so all ranks have one association. For a world that
is no power of two see `fold`. Source: Thakur, Rabenseifner and Gropp, "Optimization of collective
communication operations in MPICH", IJHPCA 2005.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.schedules.fold import core_size, fold_cost, folded
from psbench.schedules.schedule import IntArray, LazyRounds, Round, Schedule, uniform_round


def recursive_doubling(world: int, num_chunks: int | None = None) -> Schedule:
    """Recursive doubling: lg p' exchanges of the whole vector, p' = 2^floor(lg world).

    `num_chunks` None is 1; any other number is sent together just the same. A rank of the core
    sends, and receives, lg p' messages, one more where it stands for a folded rank.
    """
    if num_chunks is None:
        num_chunks = 1
    core = partial(_core, num_chunks)
    rounds = LazyRounds(generate=partial(folded, world, num_chunks, core))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _core(num_chunks: int, ranks: IntArray) -> Iterator[Round]:
    place = np.arange(len(ranks))
    start = np.zeros_like(ranks)
    stop = np.full_like(ranks, num_chunks)
    for k in range(len(ranks).bit_length() - 1):
        partner = ranks[place ^ (1 << k)]
        yield uniform_round(src=ranks, dst=partner, start=start, stop=stop, reduce=True)


def cost(
    world: int,
    nbytes: float,
    *,
    latency: float,
    overhead: float,
    byte_time: float,
    reduce_time: float,
    num_chunks: int | None = None,
) -> float:
    """Return the seconds of recursive doubling of `nbytes` where all ranks enter together.

    With alpha = latency + 2 overhead, beta = `byte_time` and gamma = `reduce_time`, whatever
    `num_chunks`, and the second line only where p is no power of two:

        lg p' (alpha + n beta + n gamma)
        + 2 (alpha + n beta) + n gamma

    Exact for p = 2^k, and for p > 1.5 p'. Else it is an upper bound: the ranks that stand for
    folded ones begin late and so receive without waiting.
    """
    step = latency + 2 * overhead + nbytes * (byte_time + reduce_time)
    fold = fold_cost(
        world,
        nbytes,
        latency=latency,
        overhead=overhead,
        byte_time=byte_time,
        reduce_time=reduce_time,
    )
    return (core_size(world).bit_length() - 1) * step + fold
