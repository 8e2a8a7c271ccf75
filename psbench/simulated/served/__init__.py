"""A trial in virtual time whose workers go through servers."""

from psbench.network import Topology
from psbench.simulated.served.by_events import ServedByEvents
from psbench.simulated.served.in_step import ServedInStep, goes_in_step
from psbench.simulated.vectors import Vectors
from psbench.trial import Plan

__all__ = ["ServedByEvents", "ServedInStep", "served"]


def served(plan: Plan, vectors: Vectors, topology: Topology) -> ServedByEvents | ServedInStep:
    """Return the simulation of a trial: all steps at once where all workers and servers go in step,
    else event by event."""
    if goes_in_step(plan, vectors, topology):
        return ServedInStep(plan, vectors, topology)
    return ServedByEvents(plan, vectors, topology)
