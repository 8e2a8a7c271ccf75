"""What `auto` stands for in virtual time: what a simulation of one sum says is fastest."""

import numpy as np

from psbench.network import Topology
from psbench.schedules import ALGORITHMS, OPTIONS, pipelined_chunks, schedule_for
from psbench.simulated.collective import Collective, simulate
from psbench.spec import AllReduce, Cell, carrier
from psbench.trial import Pick

_AUTO = "auto"


def picked(cell: Cell, topology: Topology, numel: int, itemsize: int) -> Pick:
    """Return what a cell leaves to us: the algorithm that sums its vector fastest, all ranks
    beginning at once, or the number of chunks that makes a pipeline cheapest."""
    strategy = carrier(cell.strategy)
    if not isinstance(strategy, AllReduce):
        return Pick()
    if strategy.algorithm == _AUTO:
        seconds = {name: _seconds(name, cell, topology, numel, itemsize) for name in _choices(cell)}
        return Pick(algorithm=min(seconds, key=lambda name: seconds[name]))
    if strategy.chunks != _AUTO:
        return Pick()
    if cell.workers == 1:
        return Pick(chunks=1)
    link = topology.between
    return Pick(
        chunks=pipelined_chunks(
            strategy.algorithm,
            cell.workers,
            numel * itemsize,
            latency=link.latency,
            overhead=link.overhead,
            byte_time=link.byte_time,
            reduce_time=link.reduce_time,
        )
    )


def _choices(cell: Cell) -> list[str]:
    """Return the algorithms to choose from: hierarchical ones where there are hosts to tell
    apart."""
    several = (cell.ranks_per_host or 1) > 1
    return [name for name in ALGORITHMS if several or "ranks_per_host" not in OPTIONS.get(name, ())]


def _seconds(name: str, cell: Cell, topology: Topology, numel: int, itemsize: int) -> float:
    hosts = cell.ranks_per_host if "ranks_per_host" in OPTIONS.get(name, ()) else None
    schedule = schedule_for(name, cell.workers, None, roots=None, ranks_per_host=hosts)
    starts = np.zeros(cell.workers)
    one = Collective(schedule=schedule, numel=numel, itemsize=itemsize, starts=starts)
    return simulate([one], topology).finish
