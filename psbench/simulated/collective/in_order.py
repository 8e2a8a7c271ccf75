"""Collectives whose messages are served in the order of the schedule: one pass, no events.

If at each port, card and uplink messages become ready in the order in which the schedule has them,
serving them in that order is what `reference` does; and whether they do is seen on the way. With
equal starts most algorithms do; where one does not, None is returned and events must decide.
"""

from collections.abc import Sequence

import numpy as np

from psbench.network import Link, Topology
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.ports import Ports
from psbench.simulated.collective.shared_ports import SharedPorts
from psbench.simulated.collective.transfers import Collective


def simulate_in_order(
    collectives: Sequence[Collective],
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome | None:
    """Simulate as `reference.simulate_by_events` does, to the last bit, a round at a time; None
    where the order in which messages are served depends on timing.

    Memory: that of a round.
    """
    if not (in_turn or len(collectives) == 1):
        return None
    ports = _ports(topology, occupied or Occupied.nothing(topology))
    if ports is None:
        return None
    starts, finishes = np.empty((2, len(collectives), len(topology.hosts)))
    entered = np.full(len(topology.hosts), -np.inf)
    for number, collective in enumerate(collectives):
        bounds = collective.bounds
        np.maximum(entered, collective.ready, out=entered)
        starts[number] = entered
        for own in collective.schedule.rounds:
            if not ports.serve(own, bounds, entered):
                return None
        finishes[number] = entered
    return ports.outcome(starts, finishes)


def _ports(topology: Topology, occupied: Occupied) -> Ports | SharedPorts | None:
    """Return what serves rounds; None where what happens at one moment has an order of its own."""
    if topology.shares_nothing:
        return Ports(topology, occupied)
    links = topology.between, topology.inside or topology.between
    return SharedPorts(topology, occupied) if all(map(_takes_time, links)) else None


def _takes_time(link: Link) -> bool:
    """Return whether neither a message's way nor its port takes no time at all."""
    return link.latency + link.overhead > 0 and link.overhead + link.byte_time > 0
