"""The binary tree: few rounds in a large world, at up to three times the vector sent by a rank.

Rank i's children are ranks 2i + 1 and 2i + 2, as in a heap, so rank 0 is the root:

            0            depth 0
         /     \\
        1       2        depth 1
       / \\     / \\
      3   4   5   6      depth 2 = height of a world of 7

The sum is gathered at the root, then sent down, chunk by chunk so that all levels work at once.
Derived; for pipelining in trees see Sanders, Speck and Traeff, "Two-tree algorithms for full
bandwidth broadcast, reduction and scan", Parallel Computing 2009.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.schedules.schedule import IntArray, LazyRounds, Round, Schedule, uniform_round

DEFAULT_CHUNKS = 4


def tree(world: int, num_chunks: int | None = None) -> Schedule:
    """Binary tree all-reduce: reduce to rank 0, then broadcast, pipelined by chunks.

    `num_chunks` None is DEFAULT_CHUNKS. With height h there are 2 (h + num_chunks - 1) rounds
    (none in a world of 1). A rank sends, and receives, num_chunks chunks for each of its
    neighbours in the tree: a leaf 1x, an inner rank 3x, the root 2x num_chunks.
    """
    if num_chunks is None:
        num_chunks = DEFAULT_CHUNKS
    rounds = LazyRounds(generate=partial(_rounds, world, num_chunks))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _rounds(world: int, num_chunks: int) -> Iterator[Round]:
    if world == 1:
        return
    levels = height(world)
    child = np.arange(1, world, dtype=np.int64)
    parent = (child - 1) // 2
    # frexp gives the exact position of the highest bit, which log2 may round.
    depth = np.frexp(child + 1)[1].astype(np.int64) - 1
    for step in range(levels + num_chunks - 1):
        # Children ascend, so that a parent adds its left child before its right one.
        yield _chunk_round(child, parent, step - (levels - depth), num_chunks, reduce=True)
    for step in range(levels + num_chunks - 1):
        yield _chunk_round(parent, child, step - (depth - 1), num_chunks, reduce=False)


def _chunk_round(
    src: IntArray, dst: IntArray, chunk: IntArray, num_chunks: int, *, reduce: bool
) -> Round:
    """Return the round in which each edge carries its `chunk`, if there is such a chunk."""
    exists = (chunk >= 0) & (chunk < num_chunks)
    stop = np.where(exists, chunk + 1, chunk)
    return uniform_round(src=src, dst=dst, start=chunk, stop=stop, reduce=reduce)


def height(world: int) -> int:
    """Return the edges between the root and the farthest leaf."""
    return world.bit_length() - 1


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
    """Return the seconds of a tree all-reduce of `nbytes` where all ranks enter together.

    Exact for world = 2^(h+1) - 1 and chunks of equal size; for any other world it is an upper
    bound, the time of the full tree of the same height h = floor(lg world).

    With L = `latency` and o = `overhead` [s], beta = `byte_time` and gamma = `reduce_time` [s/B],
    c chunks, u = o + n beta / c (a chunk on one side of one port) and g = n gamma / c:

        reduce       h (L + o + u + g + max(u, g)) + 2 (c - 1) max(u, g)
        broadcast    h (L + o + 2 u)               + 2 (c - 1) u

    A parent takes in two chunks, one behind the other, and passes their sum on: h times for the
    first chunk; each later chunk follows by the time of the busier of port and processor. Without
    gamma the sum is 4 (h + c - 1) (o + n beta / c) + 2 h (L + o).

    Assumed: the two directions of a port do not disturb each other; messages enter a port in the
    schedule's order, also while the rank still reduces earlier ones; a rank reduces one chunk at
    a time.
    """
    if num_chunks is None:
        num_chunks = DEFAULT_CHUNKS
    if world == 1:
        return 0.0
    levels = height(world)
    port = overhead + nbytes * byte_time / num_chunks
    reduction = nbytes * reduce_time / num_chunks
    busier = max(port, reduction)
    reduce = levels * (latency + overhead + port + reduction + busier)
    broadcast = levels * (latency + overhead + 2 * port)
    return reduce + broadcast + 2 * (num_chunks - 1) * (busier + port)
