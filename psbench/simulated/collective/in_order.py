"""Collectives whose messages every port serves in the order of the schedule: one pass, no events.

Where ranks share no card, a message needs one port on each side. If at each port messages become
ready in the order in which the schedule has them, serving them in that order is what `reference`
does; and whether they do is seen on the way. With equal starts most algorithms do; where one does
not, None is returned and events must decide.
"""

from collections.abc import Sequence

import numpy as np

from psbench.network import Topology
from psbench.schedules import Round
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.serve_round import PORT, serve_round
from psbench.simulated.collective.transfers import Collective, FloatArray, IntArray


def simulate_in_order(
    collectives: Sequence[Collective],
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome | None:
    """Simulate as `reference.simulate_by_events` does, to the last bit, a round at a time; None
    where the order at a port depends on timing, or ranks share what messages need.

    Memory: that of a round.
    """
    if topology.shares_cards or topology.hosts_per_group or not (in_turn or len(collectives) == 1):
        return None
    ports = Ports(topology, occupied or Occupied.nothing(topology))
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


class Ports:
    """The ports of all ranks, each alone on its host, and what became of them so far."""

    def __init__(self, topology: Topology, occupied: Occupied) -> None:
        self._hosts, self._occupied, link = list(topology.hosts), occupied, topology.between
        self._costs = link.latency + link.overhead, link.overhead, link.byte_time, link.reduce_time
        self._done = np.empty(len(self._hosts))
        self._ports = np.zeros((2, len(self._hosts)), dtype=PORT)
        # the first message needs the port and the card; after it the port is free last
        self._ports["free"] = np.maximum(occupied.ports, occupied.cards[:, self._hosts])
        self._ports["ready"] = -np.inf
        self._ports["adder_free"] = occupied.adders

    def serve(self, own: Round, bounds: IntArray, entered: FloatArray) -> bool:
        """Serve a round; `entered` is then when each rank is done with it. False where messages at
        a port are not ready in the order of the schedule."""
        served: bool = serve_round(
            own.src, own.dst, own.start, own.stop, own.reduce, bounds, entered, self._done,
            *self._ports, *self._costs,
        )  # fmt: skip
        return served

    def outcome(self, starts: FloatArray, finishes: FloatArray) -> Outcome:
        """Return what came of it."""
        free = self._free()
        cards = np.zeros_like(free.cards)
        cards[:, self._hosts] = self._ports["card_busy"]
        return Outcome(
            starts=starts,
            finishes=finishes,
            ports=self._ports["busy"].copy(),
            cards=cards,
            uplinks=np.zeros_like(free.uplinks),
            adding=self._ports["adder_busy"][1].copy(),
            occupied=free,
        )

    def _free(self) -> Occupied:
        """Return from when on what is free: what had no message, as it was."""
        used = self._ports["ready"] > -np.inf
        left = self._occupied.copy()
        left.ports[used] = self._ports["free"][used]
        cards = left.cards[:, self._hosts]
        cards[used] = self._ports["card_free"][used]
        left.cards[:, self._hosts] = cards
        left.adders[:] = self._ports["adder_free"][1]
        return left
