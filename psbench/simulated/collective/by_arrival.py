"""Collectives of ranks that have a host each, by one event a message."""

from collections.abc import Sequence

import numpy as np

from psbench.network import Topology
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.ports import Ports
from psbench.simulated.collective.transfers import Collective, transfers_of


def simulate_by_arrival(
    collectives: Sequence[Collective],
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome | None:
    """Simulate as `reference.simulate_by_events` does, to the last bit; None where ranks share
    cards or uplinks, have several collectives at once, or messages are there when they leave.

    Memory: about 100 bytes a message.
    """
    link = topology.between
    one_at_a_time = in_turn or len(collectives) == 1
    if not (topology.shares_nothing and one_at_a_time and link.latency + link.overhead > 0):
        return None
    ports = Ports(topology, occupied or Occupied.nothing(topology))
    ready = np.array([own.ready for own in collectives])
    return ports.outcome(*ports.serve_all(transfers_of(collectives), ready))
