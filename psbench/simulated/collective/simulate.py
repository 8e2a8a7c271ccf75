"""The simulation of collectives that are in flight together."""

from collections.abc import Sequence

from psbench.network import Topology
from psbench.simulated.collective.by_arrival import simulate_by_arrival
from psbench.simulated.collective.compiled import simulate_compiled
from psbench.simulated.collective.in_order import simulate_in_order
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.transfers import Collective


def simulate(
    collectives: Sequence[Collective],
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome:
    """Return when collectives end on `topology`, one rank of which each of their ranks is.

    `in_turn`: a rank begins one only when it is done with the one before, and is ready; otherwise
    all are begun as soon as a rank is ready. The model is that of `reference`.

    `occupied`: what an earlier call left, its `Outcome.occupied`; None: all is free. So a message
    of the earlier call is served before any of this one, also where this one's is ready first.
    """
    occupied = occupied or Occupied.nothing(topology)
    for way in (simulate_in_order, simulate_by_arrival):
        outcome = way(collectives, topology, in_turn=in_turn, occupied=occupied)
        if outcome is not None:
            return outcome
    return simulate_compiled(collectives, topology, in_turn=in_turn, occupied=occupied)
