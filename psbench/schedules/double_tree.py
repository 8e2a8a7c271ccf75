"""Two binary trees at once: the tree's few rounds, and nearly the ring's bytes.

In a tree half of the ranks are leaves and send little. A second tree, the first one's mirror image,
has the first one's leaves for inner ranks; each tree carries half of the chunks. Nodes are numbered
1 .. q in order, the leaves being the odd ones, and node i of the second tree is node q + 1 - i of
the first. With q = 6, on ranks 0 .. 5:

            3                    2             depth 0
          /   \\                /   \\
        1       5            4       0         depth 1
       / \\     /            / \\      \\
      0   2   4            5   3      1        depth 2

Edges have two colours and rounds take turns, one colour each. The two edges on which a rank sends,
to its parents, differ in colour, and so do the at most two on which it receives: in each round a
rank sends at most once and receives at most once. With an odd number of ranks, rank 0 stands above
both roots. The reduction is the broadcast backwards, its chunks the other way round.

Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
scan", Parallel Computing 2009.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from psbench.schedules.schedule import IntArray, LazyRounds, Round, Schedule, uniform_round

DEFAULT_CHUNKS = 8


def double_tree(world: int, num_chunks: int | None = None) -> Schedule:
    """Double binary tree all-reduce: reduce to two roots, then broadcast, pipelined by chunks.

    `num_chunks` None is DEFAULT_CHUNKS; the first tree carries half of them, rounded up. With an
    even number c of chunks there are 2 (c + f - 1) rounds, f = `depth(world)`, less than
    2 ceil(lg world). An inner rank with two children then
    sends, and receives, 2 c chunks; no rank more.
    """
    if num_chunks is None:
        num_chunks = DEFAULT_CHUNKS
    rounds = LazyRounds(generate=partial(_rounds, world, num_chunks))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _rounds(world: int, num_chunks: int) -> Iterator[Round]:
    if world == 1:
        return
    edges, chunks = _edges(world), _chunks_a_tree(num_chunks)
    offset, count = edges.second * chunks[0], chunks[edges.second]
    num_rounds = _num_rounds(edges, chunks)
    for reduce in (True, False):
        src, dst = (edges.lower, edges.upper) if reduce else (edges.upper, edges.lower)
        for step in range(num_rounds):
            # Two rounds a chunk on each edge, one for either colour.
            chunk, turn = np.divmod((num_rounds - 1 - step if reduce else step) - edges.first, 2)
            exists = (chunk >= 0) & (chunk < count) & (turn == 0)
            start = offset + (count - 1 - chunk if reduce else chunk)
            if not exists.any():
                continue  # the other tree's turn, with one chunk in all
            yield uniform_round(src=src, dst=dst, start=start, stop=start + exists, reduce=reduce)


def _chunks_a_tree(num_chunks: int) -> IntArray:
    return np.array([num_chunks - num_chunks // 2, num_chunks // 2], dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Edges:
    """The edges of both trees, as parallel arrays.

    `upper` is the rank nearer to the root, `first` the broadcast's round in which the edge carries
    its tree's first chunk, and its colour the parity of that; `second` says which tree it is in.
    """

    upper: IntArray
    lower: IntArray
    first: IntArray
    second: IntArray


def _edges(world: int) -> _Edges:
    upper = _parents(world)
    top = upper < 0
    colour = _colours(upper, world)
    tree, rank = np.divmod(np.arange(2 * world, dtype=np.int64), world)
    # The edge above an edge is the one on which its upper rank is the lower one.
    above = np.where(top, 0, tree * world + upper)
    first = colour
    for _ in range(world.bit_length()):  # once a level of the tree, from the root down
        earliest = np.where(top[above], 0, first[above] + 1)
        first = earliest + (earliest - colour) % 2
    kept = ~top
    return _Edges(upper=upper[kept], lower=rank[kept], first=first[kept], second=tree[kept])


def _parents(world: int) -> IntArray:
    """Return each rank's parent in the first tree, then in the second; -1 above the topmost."""
    odd = world % 2
    size = world - odd
    node = np.arange(1, size + 1, dtype=np.int64)
    low = node & -node
    is_right = ((node & (low << 1)) != 0) | (node + low > size)
    up = np.where(is_right, node - low, node + low)
    up[(1 << (size.bit_length() - 1)) - 1] = 0  # above the root
    parents = np.full((2, world), -1, dtype=np.int64)
    parents[0, node - 1 + odd] = up - 1 + odd
    parents[1, size - node + odd] = np.where(up == 0, odd - 1, size - up + odd)
    return parents.ravel()


def _colours(upper: IntArray, world: int) -> IntArray:
    """Return a colour, 0 or 1, for each edge: two edges with the same upper or lower rank differ.

    Edge e leads from rank e mod world up to upper[e]. Each rank is the lower one of two edges, and
    the upper one of at most two; edges in the place of those above the topmost, where -1 stands,
    make it exactly two. So edges form rings in which they meet by turns at an upper and at a lower
    rank, and which can be coloured by turns (Koenig).
    """
    edge = np.arange(2 * world, dtype=np.int64)
    top = upper < 0
    missing = 2 - np.bincount(upper[~top], minlength=world)
    upper = upper.copy()
    upper[top] = np.repeat(edge[:world], missing)
    pairs = np.argsort(upper, kind="stable").reshape(world, 2)
    at_upper = np.empty_like(edge)
    at_upper[pairs] = pairs[:, ::-1]
    at_lower = (edge + world) % (2 * world)
    # Two steps along its ring bring an edge to the next one of its colour. Both colours of a ring
    # are told apart by their least edges, found by doubling the steps.
    ahead, least = at_upper[at_lower], edge
    for _ in range((2 * world).bit_length()):
        least = np.minimum(least, least[ahead])
        ahead = ahead[ahead]
    return (least > least[at_lower]).astype(np.int64)


def _num_rounds(edges: _Edges, chunks: IntArray) -> int:
    """Return the rounds of one phase, `chunks[t]` being the chunks that tree t carries."""
    own = chunks[edges.second]
    return int((edges.first + 2 * own - 1)[own > 0].max())


def depth(world: int) -> int:
    """Return the broadcast's rounds before the last edge carries its tree's first chunk."""
    return 0 if world == 1 else int(_edges(world).first.max())


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
    """Return at most the seconds of a double tree all-reduce where all ranks enter together.

    With alpha = latency + 2 overhead, beta = `byte_time`, gamma = `reduce_time`, c chunks and r
    rounds in each of the two phases (see `double_tree`):

        r (2 (alpha + n beta / c) + n gamma / c)

    An upper bound: as if all ranks waited for each other after each round. They nearly do, since a
    rank's next round waits for what it receives in this one; where bytes are all that costs it is
    exact for an even c. Else it is at most a third too high from 8 chunks on, as far as simulated,
    and with one chunk, where most ranks are idle in most rounds, up to twice the time. That is
    where ports serve messages in the order of the schedule. Where they serve what is ready first,
    as in virtual time, ranks that run ahead get in the way of others: up to 1.23 times this, as
    seen.
    """
    if world == 1:
        return 0.0
    if num_chunks is None:
        num_chunks = DEFAULT_CHUNKS
    num_rounds = _num_rounds(_edges(world), _chunks_a_tree(num_chunks))
    message = latency + 2 * overhead + nbytes * byte_time / num_chunks
    reduction = nbytes * reduce_time / num_chunks
    return num_rounds * (2 * message + reduction)
