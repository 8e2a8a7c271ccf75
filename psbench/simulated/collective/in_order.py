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
from psbench.simulated.collective.serve_round import serve_round
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
    link, world = topology.between, collectives[0].schedule.world
    costs = (link.latency + link.overhead, link.overhead, link.byte_time, link.reduce_time)
    ports = Ports(topology, occupied or Occupied.nothing(topology))
    starts, finishes = np.empty((2, len(collectives), world))
    entered = np.full(world, -np.inf)
    for number, collective in enumerate(collectives):
        bounds = collective.bounds
        np.maximum(entered, collective.ready, out=entered)
        starts[number] = entered
        for own in collective.schedule.rounds:
            if not ports.serve(own, bounds, entered, costs):
                return None
        finishes[number] = entered
    free = ports.occupied()
    cards = np.zeros_like(free.cards)
    cards[:, list(topology.hosts)] = ports.bytes_busy
    return Outcome(
        starts=starts,
        finishes=finishes,
        ports=ports.busy[:2],
        cards=cards,
        uplinks=np.zeros_like(free.uplinks),
        adding=ports.busy[2],
        occupied=free,
    )


class Ports:
    """The ports of all ranks, out and in, and their adding: from when on each is free, how long it
    was busy, and with bytes."""

    def __init__(self, topology: Topology, occupied: Occupied) -> None:
        self._hosts, self._occupied = list(topology.hosts), occupied
        world = len(self._hosts)
        self.busy = np.zeros((3, world))
        self.bytes_busy = np.zeros((2, world))
        # of those that are no port the first message needs both, and what follows the port alone
        begin = np.maximum(occupied.ports, occupied.cards[:, self._hosts])
        self._free = np.concatenate([begin, occupied.adders[np.newaxis]])
        self._card_free = np.zeros((2, world))
        self._latest = np.full((2, world), -np.inf)  # when the last message was ready
        self._done = np.empty(world)

    def serve(
        self, own: Round, bounds: IntArray, entered: FloatArray, costs: tuple[float, ...]
    ) -> bool:
        """Serve a round; `entered` is then when each rank is done with it. False where messages at
        a port are not ready in the order of the schedule."""
        served: bool = serve_round(
            own.src, own.dst, own.start, own.stop, own.reduce, bounds, entered, self._done,
            self._free, self._card_free, self.busy, self.bytes_busy, self._latest, *costs,
        )  # fmt: skip
        return served

    def occupied(self) -> Occupied:
        """Return from when on what is free."""
        served = self._latest > -np.inf
        left = self._occupied.copy()
        left.ports[served] = self._free[:2][served]
        cards = left.cards[:, self._hosts]
        cards[served] = self._card_free[served]
        left.cards[:, self._hosts] = cards
        left.adders[:] = self._free[2]
        return left
