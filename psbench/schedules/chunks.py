"""How many chunks to cut a vector into."""

from math import ceil, floor, isfinite, sqrt

from psbench.schedules.algorithms import COSTS, schedule_for
from psbench.schedules.tree import height

MAX_CHUNKS = 1024
"""More rounds of less would gain nothing to speak of: filling the pipeline costs a share of about
height / chunks of the whole."""


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
    """Return the number of chunks, up to MAX_CHUNKS, for which the algorithm's cost is least.

    Algorithms that do not pipeline send as much and as often whatever the number: they have their
    own. Raises as `schedule_for` does.
    """
    own = schedule_for(name, world, **options).num_chunks
    if world == 1 or name not in ("tree", "double_tree"):
        return own
    n, beta, gamma = nbytes, byte_time, reduce_time
    if name == "tree":
        h = height(world)
        # Where the port is the busier, where the processor is, and where both are as busy.
        optima = [
            _root(n * (4 * (h - 1) * beta + h * gamma), 4 * overhead),
            _root(n * ((3 * h - 2) * beta + (2 * h - 2) * gamma), 2 * overhead),
            n * max(gamma - beta, 0.0) / overhead if overhead else MAX_CHUNKS,
        ]
    else:
        fill = first_rounds(world)
        optima = [_root(n * fill * (2 * beta + gamma), 2 * (latency + 2 * overhead))]
