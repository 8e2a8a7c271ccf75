"""Halving and doubling (Rabenseifner): the ring's bytes in a number of rounds that grows with lg p.

The chunks are cut into p segments. Ranks exchange halves of what they hold with ranks 1, 2, 4, ...
away, so that each ends with the sum of one segment (reduce-scatter), then the same way back
(all-gather). Near ranks exchange the most. What rank r sends, with p = 4 and segments a b c d:

                          0      1      2      3
    round 0    r xor 1    c d    a b    c d    a b    add
    round 1    r xor 2    b      d      a      c      add
    round 2    r xor 2    a      c      b      d      copy
    round 3    r xor 1    a b    c d    a b    c d    copy

For a world that is no power of two see `fold`. Source: Rabenseifner, "Optimization of collective
reduction operations", ICCS 2004; Thakur, Rabenseifner and Gropp, "Optimization of collective
communication operations in MPICH", IJHPCA 2005.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.parts import even_parts
from psbench.schedules.fold import core_size, fold_cost, folded
from psbench.schedules.schedule import IntArray, LazyRounds, Round, Schedule, uniform_round


def halving_doubling(world: int, num_chunks: int | None = None) -> Schedule:
    """Halving-doubling: reduce-scatter by halving, all-gather by doubling, lg p' rounds each.

    p' = 2^floor(lg world); `num_chunks` None is p'. With fewer chunks than p' some segments are
    empty and their transfers are left out. When p' divides num_chunks each rank of the core sends,
    and receives, 2 (p' - 1)/p' of the vector, and all of it once more where it stands for a folded
    rank.
    """
    if num_chunks is None:
        num_chunks = max(core_size(world), 1)
    core = partial(_core, num_chunks)
    rounds = LazyRounds(generate=partial(folded, world, num_chunks, core))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _core(num_chunks: int, ranks: IntArray) -> Iterator[Round]:
    bounds = even_parts(num_chunks, len(ranks))
    place = np.arange(len(ranks), dtype=np.int64)
    levels = range(len(ranks).bit_length() - 1)
    steps = [(k, True) for k in levels] + [(k, False) for k in reversed(levels)]
    for k, reduce in steps:
        partner = place ^ (1 << k)
        # What whoever keeps it has left after k + 1 halvings: the partner, then the sender.
        window = _first_segment(partner if reduce else place, k + 1)
        yield uniform_round(
            src=ranks,
            dst=ranks[partner],
            start=bounds[window],
            stop=bounds[window + (len(ranks) >> (k + 1))],
            reduce=reduce,
        )


def _first_segment(place: IntArray, halvings: int) -> IntArray:
    """Return where the segments start that each place holds after so many halvings."""
    first = np.zeros_like(place)
    for k in range(halvings):
        upper_half = (place >> k) & 1
        first += upper_half * (len(place) >> (k + 1))
    return first


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
    """Return the seconds of halving-doubling of `nbytes` where all ranks enter together.

    With alpha = latency + 2 overhead, beta = `byte_time`, gamma = `reduce_time` and m_k bytes in
    the largest window after k halvings, ceil(c / 2^k) of the c chunks:

        sum over k = 1 .. lg p' of 2 (alpha + m_k beta) + m_k gamma
        + 2 (alpha + n beta) + n gamma    where p is no power of two

    When p' divides c the sum is 2 lg p' alpha + 2 (p' - 1)/p' n beta + (p' - 1)/p' n gamma. Exact
    for any number of ranks and chunks: place 0 of the core, which begins late where ranks fold,
    reaches the last place by an exchange in each round, which is given the largest window after
    each halving; and the way back is the same.
    """
    size = core_size(world)
    if num_chunks is None:
        num_chunks = size
    seconds = fold_cost(
        world,
        nbytes,
        latency=latency,
        overhead=overhead,
        byte_time=byte_time,
        reduce_time=reduce_time,
    )
    for k in range(1, size.bit_length()):
        window = -(-num_chunks // 2**k) * nbytes / num_chunks
        seconds += 2 * (latency + 2 * overhead + window * byte_time) + window * reduce_time
    return seconds
