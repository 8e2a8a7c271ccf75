"""How many chunks to cut a vector into."""

from collections.abc import Iterator
from math import ceil, floor, sqrt

from psbench.schedules.algorithms import COSTS, schedule_for
from psbench.schedules.double_tree import depth
from psbench.schedules.tree import height

PIPELINED = ("tree", "double_tree")
"""Algorithms whose cost has a best number of chunks."""

MAX_CHUNKS = 1024
"""More would bring next to nothing: by then filling the pipeline takes a share of the time of about
height / MAX_CHUNKS."""


def pipelined_chunks(
    name: str,
    world: int,
    nbytes: float,
    *,
    latency: float,
    overhead: float,
    byte_time: float,
    reduce_time: float,
    **options: int | None,
) -> int:
    """Return the number of chunks, up to MAX_CHUNKS, for which the algorithm's `cost` is least.

    Algorithms that do not pipeline have a number of their own, which is returned. Raises as
    `schedule_for` does.
    """
    own = schedule_for(name, world, **options).num_chunks
    costs = {"overhead": overhead, "byte_time": byte_time, "reduce_time": reduce_time}
    if world == 1 or name not in PIPELINED:
        return own
    if name == "tree":
        optima = _tree_optima(height(world), nbytes, **costs)
    else:
        alpha = latency + 2 * overhead
        optima = [_root(nbytes * (depth(world) - 1) * (2 * byte_time + reduce_time), 2 * alpha)]

    def seconds(num_chunks: int) -> float:
        return COSTS[name](world, nbytes, latency=latency, **costs, num_chunks=num_chunks)

    return min(sorted(set(_near(optima))), key=seconds)


def _tree_optima(
    height: int, nbytes: float, *, overhead: float, byte_time: float, reduce_time: float
) -> list[float]:
    """Return where the tree's cost, a convex function of the chunks, may be least.

    It is the greater of two of the form a + b c + d / c, one for the port and one for the
    processor being the busier: at the root of d / b of either, or where they are equal.
    """
    port, processor = nbytes * byte_time, nbytes * reduce_time
    return [
        _root(4 * (height - 1) * port + height * processor, 4 * overhead),
        _root((3 * height - 2) * port + 2 * (height - 1) * processor, 2 * overhead),
        (processor - port) / overhead if overhead else MAX_CHUNKS,
    ]


def _root(d: float, b: float) -> float:
    """Return where b c + d / c is least."""
    if d <= 0:
        return 1.0
    return sqrt(d / b) if b > 0 else MAX_CHUNKS


def _near(optima: list[float]) -> Iterator[int]:
    """Yield the numbers of chunks next to each optimum: two each way, for the double tree's cost
    is a little higher where its trees carry different numbers."""
    for optimum in optima:
        for number in range(floor(optimum) - 1, ceil(optimum) + 2):
            yield min(max(number, 1), MAX_CHUNKS)
