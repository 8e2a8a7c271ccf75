"""How algorithms that pair ranks by the bits of their numbers take a world of any size.

MPICH's way: with p' the largest power of two up to p, p - p' ranks hand their vectors to a
neighbour before and get the result from it after. p' ranks, the core, do the rest. With p = 6:

    ranks      0    1    2    3    4    5
    before     0 -> 1    2 -> 3              add
    core            0         1    2    3    places in the core
    after      0 <- 1    2 <- 3              copy

Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
MPICH", IJHPCA 2005.
"""

from collections.abc import Callable, Iterator

import numpy as np

from psbench.schedules.schedule import IntArray, Round, uniform_round


def core_size(world: int) -> int:
    """Return the largest power of two up to `world`; 0 for a world below 1."""
    return 1 << (world.bit_length() - 1) if world > 0 else 0


def folded(
    world: int, num_chunks: int, core: Callable[[IntArray], Iterator[Round]]
) -> Iterator[Round]:
    """Yield the rounds of `core`, which is given the ranks by their places in it, and the fold's.

    A folded rank sends all its chunks before and receives all of them after.
    """
    extra = world - core_size(world)
    folds = np.arange(0, 2 * extra, 2, dtype=np.int64)
    chunks = {"start": np.zeros_like(folds), "stop": np.full_like(folds, num_chunks)}
    if extra:
        yield uniform_round(src=folds, dst=folds + 1, **chunks, reduce=True)
    yield from core(np.append(folds + 1, np.arange(2 * extra, world, dtype=np.int64)))
    if extra:
        yield uniform_round(src=folds + 1, dst=folds, **chunks, reduce=False)


def fold_cost(
    world: int,
    nbytes: float,
    *,
    latency: float,
    overhead: float,
    byte_time: float,
    reduce_time: float,
) -> float:
    """Return the seconds that folding adds, before and after together, at most."""
    if world == core_size(world):
        return 0.0
    return 2 * (latency + 2 * overhead + nbytes * byte_time) + nbytes * reduce_time
