"""Hierarchical by leaders: one rank of each host speaks for it, so that the network sees few.

Each host's first rank is its leader. The host's ranks reduce to it by a binomial tree, leaders
all-reduce in a ring, and the tree brings the result back. With two hosts of four ranks and segments
a b of the vector:

    round 0      1 -> 0   3 -> 2      5 -> 4   7 -> 6    add, all of the vector
    round 1      2 -> 0               6 -> 4             add
    round 2      0 -> 4 [b]           4 -> 0 [a]         add, between the hosts
    round 3      0 -> 4 [a]           4 -> 0 [b]         copy
    round 4      0 -> 2               4 -> 6             copy, all of the vector
    round 5      0 -> 1   2 -> 3      4 -> 5   6 -> 7    copy

The last host may have fewer ranks; its tree is then smaller. Derived.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.parts import even_parts
from psbench.schedules.hosts import Hosts, hosts_of
from psbench.schedules.ring import cost as ring_cost
from psbench.schedules.ring import ring_rounds
from psbench.schedules.schedule import LazyRounds, Round, Schedule, uniform_round


def hierarchical_leaders(
    world: int, num_chunks: int | None = None, *, ranks_per_host: int | None = None
) -> Schedule:
    """Hierarchical all-reduce by leaders: reduce in each host, ring of leaders, broadcast in each.

    `ranks_per_host` None: all ranks are on one host; `num_chunks` None is one chunk a host. With m
    hosts, g ranks a host and m dividing num_chunks, a leader sends, and receives, 2 (m - 1)/m of
    the vector outside the host, and the whole of it ceil(lg g) times inside.
    """
    hosts = hosts_of(world, ranks_per_host)
    if num_chunks is None:
        num_chunks = hosts.count
    rounds = LazyRounds(generate=partial(_rounds, world, num_chunks, hosts))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _rounds(world: int, num_chunks: int, hosts: Hosts) -> Iterator[Round]:
    levels = range(_levels(hosts))
    for k in levels:
        yield _tree_round(world, num_chunks, hosts, 1 << k, reduce=True)
    yield from ring_rounds(hosts.leaders[:, np.newaxis], even_parts(num_chunks, hosts.count))
    for k in reversed(levels):
        yield _tree_round(world, num_chunks, hosts, 1 << k, reduce=False)


def _tree_round(world: int, num_chunks: int, hosts: Hosts, gap: int, *, reduce: bool) -> Round:
    """Return the round between ranks `gap` apart in each host's binomial tree."""
    rank = np.arange(world, dtype=np.int64)
    lower = rank[rank % hosts.size % (2 * gap) == gap]
    upper = lower - gap
    return uniform_round(
        src=lower if reduce else upper,
        dst=upper if reduce else lower,
        start=np.zeros_like(lower),
        stop=np.full_like(lower, num_chunks),
        reduce=reduce,
    )


def _levels(hosts: Hosts) -> int:
    return (hosts.size - 1).bit_length()


def cost(
    world: int,
    nbytes: float,
    *,
    latency: float,
    overhead: float,
    byte_time: float,
    reduce_time: float,
    num_chunks: int | None = None,
    ranks_per_host: int | None = None,
    inside_latency: float | None = None,
    inside_overhead: float | None = None,
    inside_byte_time: float | None = None,
) -> float:
    """Return the seconds of an all-reduce of `nbytes` by leaders where all ranks enter together.

    `latency`, `overhead` and `byte_time` are those between hosts, the `inside_` ones those between
    ranks of one host; None: the same. With index 1 for inside, alpha = latency + 2 overhead and g
    ranks a host:

        ceil(lg g) (2 (alpha1 + n beta1) + n gamma) + the ring's time with one rank a host

    Exact where g is a power of two or 1, whatever the last host has; else an upper bound, since a
    leader with fewer ranks below some of its children receives their sums without waiting.
    """
    hosts = hosts_of(world, ranks_per_host)
    inside = (latency if inside_latency is None else inside_latency) + 2 * (
        overhead if inside_overhead is None else inside_overhead
    )
    inside += nbytes * (byte_time if inside_byte_time is None else inside_byte_time)
    ring = ring_cost(
        hosts.count,
        nbytes,
        latency=latency,
        overhead=overhead,
        byte_time=byte_time,
        reduce_time=reduce_time,
        num_chunks=num_chunks,
    )
    return _levels(hosts) * (2 * inside + nbytes * reduce_time) + ring
