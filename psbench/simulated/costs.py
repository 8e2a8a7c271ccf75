"""What computing costs in virtual time, and what updating does."""

import numpy as np
import numpy.typing as npt

from psbench.network import Topology
from psbench.spec import Untrained
from psbench.trial import Plan

FloatArray = npt.NDArray[np.float64]


class Costs:
    """Seconds of a trial's computing and updating, with vectors of `nbytes`.

    A pass over a vector, such as an optimiser's step, takes as long as adding it to another does on
    the link between hosts. A payload computes nothing, unless the spec says so; where nothing
    is learned, nothing is updated.
    """

    def __init__(self, plan: Plan, topology: Topology, nbytes: int) -> None:
        cell = plan.trial.cell
        self._compute_time = plan.compute_time()
        self._ranks = range(cell.workers)
        self.known_after = plan.share_computed
        self.reduce_time = topology.between.reduce_time
        """s/B, of what is added to a vector"""
        self.update = 0.0 if isinstance(cell.task, Untrained) else nbytes * self.reduce_time
        """of a pass over a rank's whole vector"""

    def compute(self, rank: int, step: int, parts: int) -> float:
        """Return how long a rank computes one of the parts of a step."""
        if self._compute_time is None:
            return 0.0
        return self._compute_time.draw(rank, step) / parts

    def compute_all(self, step: int, parts: int) -> FloatArray:
        """Return how long each rank computes one of the parts of a step, shape (world,)."""
        return np.array([self.compute(rank, step, parts) for rank in self._ranks])
