"""The star: all send to the roots, which send the sums back: what a synchronous server does.

With s roots the chunks are cut into s even parts; root i is rank i and owns part i. With one root
and p = 4:

    round 0    1 -> 0    2 -> 0    3 -> 0    add, in this order
    round 1    0 -> 1    0 -> 2    0 -> 3    copy

Two rounds whatever the world, but (p - 1)/s of the vector through a root's port each way. With as
many roots as ranks this is `direct`. Derived; for servers that are workers too see Jiang et al.,
"A unified architecture for accelerating distributed DNN training in heterogeneous GPU/CPU
clusters", OSDI 2020.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from psbench.errors import ScheduleError
from psbench.parts import even_parts
from psbench.schedules.schedule import LazyRounds, Round, Schedule
from psbench.schedules.spokes import spokes, spokes_cost


def star(world: int, num_chunks: int | None = None, *, roots: int = 1) -> Schedule:
    """Star all-reduce: all ranks send each part to its root, which sends the sum back; 2 rounds.

    `num_chunks` None is one chunk a root. Root i adds the ranks i + 1, i + 2, ... (mod world) to
    its own in this order. It sends, and receives, world - 1 times its part and, as any rank, the
    parts of the other roots. Raises ScheduleError unless there are 1 to `world` roots.
    """
    if world >= 1 and not 1 <= roots <= world:
        raise ScheduleError(f"a star of {world} ranks has 1 to {world} roots, not {roots}")
    if num_chunks is None:
        num_chunks = roots
    rounds = LazyRounds(generate=partial(_rounds, world, num_chunks, roots))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


def _rounds(world: int, num_chunks: int, roots: int) -> Iterator[Round]:
    if world == 1:
        return
    bounds = even_parts(num_chunks, roots)
    root = np.arange(roots, dtype=np.int64)
    for reduce in (True, False):
        yield spokes(
            first=np.zeros_like(root),
            size=np.full_like(root, world),
            owner=root,
            start=bounds[:-1],
            stop=bounds[1:],
            reduce=reduce,
        )


def cost(
    world: int,
    nbytes: float,
    *,
    latency: float,
    overhead: float,
    byte_time: float,
    reduce_time: float,
    num_chunks: int | None = None,
    roots: int = 1,
) -> float:
    """Return the seconds of a star all-reduce of `nbytes` where all ranks enter together.

    With L = `latency` and o = `overhead` [s], beta = `byte_time` and gamma = `reduce_time` [s/B],
    m bytes in the largest part, ceil(c / s) of the c chunks, u = o + m beta and g = m gamma:

        gather    L + o + u + g + (p - 2) max(u, g)
        spread    L + o + (p - 1) u

    Exact for any number of roots and chunks: the last root has the largest part, and no message to
    or from it waits for another port. Without gamma, and with s dividing c, this is 2 L + 2 p o +
    2 (p - 1)/s n beta: as with s dedicated servers, but that a root sends nothing to itself.
    """
    if num_chunks is None:
        num_chunks = roots
    part = -(-num_chunks // roots) * nbytes / num_chunks
    link = {"latency": latency, "overhead": overhead, "byte_time": byte_time}
    gather = spokes_cost(world - 1, part, reduce_time=reduce_time, **link)
    return gather + spokes_cost(world - 1, part, reduce_time=0.0, **link)
