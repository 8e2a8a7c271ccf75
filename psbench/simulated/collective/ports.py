"""Ports of ranks that have a host each, in the order of the schedule or of what comes."""

import numpy as np

from psbench.network import Topology
from psbench.schedules import Round
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.serve_by_arrival import serve_by_arrival, stages_of
from psbench.simulated.collective.serve_round import PORT, serve_round
from psbench.simulated.collective.transfers import FloatArray, IntArray, Transfers


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

    def serve_all(self, messages: Transfers, ready: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Serve all messages, whichever comes first; return when each rank began each collective,
        for which it is `ready` then, and was done with it: all of shape (collectives, world)."""
        src, dst = messages.src, messages.dst
        stages, first, stage_of, by_sender, begins = stages_of(
            messages.collective, messages.round, src, dst, *ready.shape
        )
        served: tuple[FloatArray, FloatArray] = serve_by_arrival(
            src, dst, messages.nbytes, messages.reduce,
            stages, first, stage_of[1], by_sender, begins, ready,
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
