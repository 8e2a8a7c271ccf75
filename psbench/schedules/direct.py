"""Direct: every rank sums a part for all others: few rounds, and the least bytes, in many messages.

The chunks are cut into p even parts; rank r sums part r and sends it to all. With p = 4 (in a round
each rank sends from left to right):

               to r - 1    to r - 2    to r - 3
    round 0    part r-1    part r-2    part r-3    add

               to r + 1    to r + 2    to r + 3
    round 1    part r      part r      part r      copy

It is a `star` whose roots are all ranks: what parameter servers send where each worker's process
holds a shard. Source for the bytes: Jiang et al., "A unified architecture for accelerating
distributed DNN training in heterogeneous GPU/CPU clusters", OSDI 2020 (co-located servers).
"""

from psbench.schedules.schedule import Schedule
from psbench.schedules.star import cost as star_cost
from psbench.schedules.star import star


def direct(world: int, num_chunks: int | None = None) -> Schedule:
    """Direct all-reduce: all-to-all reduce-scatter, then all-to-all all-gather; 2 rounds.

    `num_chunks` None is one chunk a rank. When world divides num_chunks each rank sends, and
    receives, 2 (world - 1) messages of num_chunks / world chunks. A round has world (world - 1)
    transfers: reading one takes memory that grows with the square of the world.
    """
    return star(world, num_chunks, roots=max(world, 1))


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
    """Return the seconds of a direct all-reduce of `nbytes` where all ranks enter together.

    That of a star with `world` roots, and as exact. Without gamma, and with p dividing the chunks,
    2 L + 2 p o + 2 (p - 1)/p n beta.
    """
    return star_cost(
        world,
        nbytes,
        latency=latency,
        overhead=overhead,
        byte_time=byte_time,
        reduce_time=reduce_time,
        num_chunks=num_chunks,
        roots=world,
    )
