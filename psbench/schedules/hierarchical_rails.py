"""Hierarchical by rails: all ranks of a host share its traffic with the others, a part each.

The chunks are cut into g parts, g ranks being on a host. Inside each host rank j sums part j, as in
`direct`. The j-th ranks of all hosts, a rail, all-reduce part j in a ring, and inside each host the
parts are handed round. With two hosts of two ranks, parts A = a b and B = c d:

    round 0    0 -> 1 [B]  1 -> 0 [A]    2 -> 3 [B]  3 -> 2 [A]    add, inside
    round 1    0 -> 2 [b]  2 -> 0 [a]    1 -> 3 [d]  3 -> 1 [c]    add, along the rails
    round 2    0 -> 2 [a]  2 -> 0 [b]    1 -> 3 [c]  3 -> 1 [d]    copy
    round 3    0 -> 1 [A]  1 -> 0 [B]    2 -> 3 [A]  3 -> 2 [B]    copy, inside

Where the last host has fewer ranks, g' of them, rail j runs through its rank j mod g', so that some
of its ranks are on several rails. Derived; compare Mikami et al., "Massively distributed SGD:
ImageNet/ResNet-50 training in a flash", 2018 (2D-torus).
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.parts import even_parts
from psbench.schedules.hosts import Hosts, hosts_of
from psbench.schedules.ring import ring_rounds
from psbench.schedules.schedule import LazyRounds, Round, Schedule
from psbench.schedules.spokes import spokes, spokes_cost


def hierarchical_rails(
    world: int, num_chunks: int | None = None, *, ranks_per_host: int | None = None
) -> Schedule:
    """Hierarchical all-reduce by rails: reduce-scatter in each host, rings across, all-gather.

    `ranks_per_host` None: all ranks are on one host. `num_chunks` None is one chunk for each rail
    and host. With m hosts of g ranks, all of one size, and m g dividing num_chunks, each rank
    sends, and receives, 2 (g - 1)/g of the vector inside its host and 2 (m - 1)/(m g) outside.
    """
    hosts = hosts_of(world, ranks_per_host)
    if num_chunks is None:
        num_chunks = hosts.count * hosts.size
    rounds = LazyRounds(generate=partial(_rounds, num_chunks, hosts))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _rounds(num_chunks: int, hosts: Hosts) -> Iterator[Round]:
    bounds = even_parts(num_chunks, hosts.count * hosts.size)
    rail = np.arange(hosts.size, dtype=np.int64)
    sizes, leaders = hosts.sizes[:, np.newaxis], hosts.leaders[:, np.newaxis]
    place = rail % sizes  # of each rail's rank in each host: shape (hosts, rails)
    first, size, start, stop = np.broadcast_arrays(
        leaders, sizes, bounds[: -1 : hosts.count], bounds[hosts.count :: hosts.count]
    )
    parts = {
        "first": first.ravel(),
        "size": size.ravel(),
        "owner": place.ravel(),
        "start": start.ravel(),
        "stop": stop.ravel(),
    }
    if hosts.size > 1:
        yield spokes(**parts, reduce=True)
    yield from ring_rounds(leaders + place, bounds)
    if hosts.size > 1:
        yield spokes(**parts, reduce=False)


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
    """Return at most the seconds of an all-reduce of `nbytes` by rails, all ranks entering at once.

    `latency`, `overhead` and `byte_time` are those between hosts, where the ranks of a host share
    one NIC and overhead is each rank's own; the `inside_` ones are those between ranks of one host;
    None: the same. For m hosts of g ranks and m g dividing the chunks, with index 1 for inside, u =
    o1 + n beta1 / g and v = n gamma / g:

        reduce-scatter    L1 + o1 + u + v + (g - 2) max(u, v)
        rings             2 (m - 1) (L + 2 o) + 2 (m - 1)/m n beta + (m - 1)/m n gamma / g
        all-gather        L1 + o1 + (g - 1) u

    Where the last host is smaller, its ranks on q rails carry q parts. Exact with one host, with
    one rank a host, and where either the bytes or the latencies cost nothing; else an upper bound:
    while one rail's message is under way the NIC serves the others, but here all rails of a host
    wait for each other after each round.
    """
    hosts = hosts_of(world, ranks_per_host)
    if num_chunks is None:
        num_chunks = hosts.count * hosts.size
    chunk = nbytes / num_chunks
    rails = -(-hosts.size // hosts.last)  # of one rank, in the last host
    part = -(-num_chunks // hosts.size) * chunk
    segments = np.diff(even_parts(num_chunks, hosts.size * hosts.count))
    through_port = rails * int(segments.max()) * chunk  # of a rank, in a round of the rings
    through_nic = int(segments.reshape(hosts.size, hosts.count).sum(axis=0).max()) * chunk
    messages = max(hosts.size - 1 if hosts.count > 1 else 0, rails * (hosts.last - 1))
    inside = {
        "latency": latency if inside_latency is None else inside_latency,
        "overhead": overhead if inside_overhead is None else inside_overhead,
        "byte_time": byte_time if inside_byte_time is None else inside_byte_time,
    }
    hop = latency + 2 * rails * overhead + through_nic * byte_time
    return (
        spokes_cost(messages, part, reduce_time=reduce_time, **inside)
        + (hosts.count - 1) * (2 * hop + through_port * reduce_time)
        + spokes_cost(messages, part, reduce_time=0.0, **inside)
    )
