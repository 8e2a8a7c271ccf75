"""The ring: the least any rank can send, in a number of rounds that grows with the world.

Rank r sends to rank r + 1 (mod p) only. The chunks are cut into p segments (even parts). In a
round each segment moves one rank on: p - 1 rounds gather its sum (reduce-scatter), which ends at
rank s for segment s, and p - 1 more carry the sum around (all-gather). With p = 4:

    segment       0         1         2         3
    round 0    1 -> 2    2 -> 3    3 -> 0    0 -> 1    add
    round 1    2 -> 3    3 -> 0    0 -> 1    1 -> 2    add
    round 2    3 -> 0    0 -> 1    1 -> 2    2 -> 3    add
    round 3    0 -> 1    1 -> 2    2 -> 3    3 -> 0    copy
    round 4    1 -> 2    2 -> 3    3 -> 0    0 -> 1    copy
    round 5    2 -> 3    3 -> 0    0 -> 1    1 -> 2    copy

Sources: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", JPDC 2009; Thakur, Rabenseifner and Gropp, "Optimization of collective communication
operations in MPICH", IJHPCA 2005.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.parts import even_parts
from psbench.schedules.schedule import IntArray, LazyRounds, Round, Schedule, uniform_round


def ring(world: int, num_chunks: int | None = None) -> Schedule:
    """Ring all-reduce: reduce-scatter, then all-gather, each in world - 1 rounds.

    `num_chunks` None is one chunk a rank. Any number works; with fewer chunks than ranks some
    segments are empty and their transfers are left out. When world divides num_chunks each rank
    sends and receives 2 (world - 1) messages of num_chunks / world chunks.
    """
    if num_chunks is None:
        num_chunks = world
    rounds = LazyRounds(generate=partial(_rounds, world, num_chunks))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _rounds(world: int, num_chunks: int) -> Iterator[Round]:
    ranks = np.arange(world, dtype=np.int64)
    return ring_rounds(ranks[:, np.newaxis], even_parts(num_chunks, world))


def ring_rounds(ranks: IntArray, bounds: IntArray) -> Iterator[Round]:
    """Yield the rounds of rings side by side, each of which sums segments of its own.

    `ranks` has shape (length, rings): ring j is ranks[:, j]. `bounds` cuts the chunks into length x
    rings segments, ring after ring.
    """
    length, rings = ranks.shape
    src, dst = ranks.ravel(), np.roll(ranks, -1, axis=0).ravel()
    # segments by place and ring, twice over: what is sent in a round is a window of them
    segment = np.arange(length * rings, dtype=np.int64).reshape(rings, length).T
    twice = np.concatenate([segment, segment])
    starts, stops = bounds[twice], bounds[twice + 1]
    none_is_empty = bool((starts < stops).all())  # told once: 1,024 ranks have 2,046 rounds
    for reduce in (True, False):
        alike = np.full(len(src), reduce)
        for hop in range(length - 1):
            first = (-hop - reduce) % length
            start, stop = (own[first : first + length].ravel() for own in (starts, stops))
            if none_is_empty:
                yield Round(src=src, dst=dst, start=start, stop=stop, reduce=alike)
            else:
                yield uniform_round(src=src, dst=dst, start=start, stop=stop, reduce=reduce)


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
    """Return the seconds of a ring all-reduce of `nbytes` where all ranks enter together.

    With alpha = latency + 2 overhead [s], beta = `byte_time` and gamma = `reduce_time` [s/B], and
    m bytes in the largest segment, ceil(c / p) of the c chunks:

        2 (p - 1) (alpha + m beta) + (p - 1) m gamma

    It is exact for any number of chunks of equal size: no round lasts longer than the largest
    segment takes, and that segment makes all 2 (p - 1) hops one after another. When p divides c
    this is the textbook's 2 (p - 1) alpha + 2 (p - 1)/p n beta + (p - 1)/p n gamma.
    """
    if num_chunks is None:
        num_chunks = world
    alpha = latency + 2 * overhead
    segment = -(-num_chunks // world) * nbytes / num_chunks
    return (world - 1) * (2 * (alpha + segment * byte_time) + segment * reduce_time)
