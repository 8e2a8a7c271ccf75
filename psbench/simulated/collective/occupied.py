"""What messages occupy, and until when: what one simulation leaves to the next."""

from dataclasses import dataclass

import numpy as np

from psbench.network import Topology
from psbench.simulated.collective.transfers import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Occupied:
    """From when on each resource is free, s. Of two sides the first is out and the second in."""

    ports: FloatArray
    """of each rank, shape (2, world)"""
    cards: FloatArray
    """of each host, shape (2, hosts)"""
    uplinks: FloatArray
    """of each group, shape (2, groups)"""
    adders: FloatArray
    """of each rank, shape (world,)"""

    @staticmethod
    def nothing(topology: Topology) -> "Occupied":
        """Return what is all free from 0 on."""
        world = len(topology.hosts)
        return Occupied(
            ports=np.zeros((2, world)),
            cards=np.zeros((2, max(topology.hosts) + 1)),
            uplinks=np.zeros((2, max(topology.groups) + 1)),
            adders=np.zeros(world),
        )

    def copy(self) -> "Occupied":
        """Return the same, in arrays of its own."""
        return Occupied(
            ports=self.ports.copy(),
            cards=self.cards.copy(),
            uplinks=self.uplinks.copy(),
            adders=self.adders.copy(),
        )
