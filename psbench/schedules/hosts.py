"""How ranks lie on hosts, for the hierarchical algorithms."""

from dataclasses import dataclass

import numpy as np

from psbench.errors import ScheduleError
from psbench.schedules.schedule import IntArray


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """`count` hosts of `size` ranks each, in the order of ranks, the last one of `last` <= size."""

    count: int
    size: int
    last: int

    @property
    def leaders(self) -> IntArray:
        """Each host's first rank."""
        return np.arange(self.count, dtype=np.int64) * self.size

    @property
    def sizes(self) -> IntArray:
        """Each host's number of ranks."""
        return np.append(np.full(self.count - 1, self.size, dtype=np.int64), self.last)


def hosts_of(world: int, ranks_per_host: int | None) -> Hosts:
    """Return how `world` ranks lie on hosts; None: all on one.

    Raises ScheduleError for a world or a number of ranks on a host below 1.
    """
    if world < 1:
        raise ScheduleError(f"a schedule needs a world of at least 1 rank, not {world}")
    if ranks_per_host is not None and ranks_per_host < 1:
        raise ScheduleError(f"a host has at least 1 rank, not {ranks_per_host}")
    size = min(ranks_per_host or world, world)
    count = -(-world // size)
    return Hosts(count=count, size=size, last=world - (count - 1) * size)
