"""Ports behind cards that several ranks share, and uplinks, in the order of the schedule."""

import numpy as np
import numpy.typing as npt

from psbench.network import Link, Topology
from psbench.schedules import Round
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.serve_shared_round import RESOURCE, serve_shared_round
from psbench.simulated.collective.transfers import FloatArray, IntArray


class SharedPorts:
    """The ports, cards and uplinks of any topology, and what became of them so far."""

    def __init__(self, topology: Topology, occupied: Occupied) -> None:
        self._hosts, self._groups = np.array(topology.hosts), np.array(topology.groups)
        self._links = _costs(topology.inside or topology.between), _costs(topology.between)
        self._uplink_share = topology.uplink_share
        self._done = np.empty(len(self._hosts))
        self._ports, self._cards, self._uplinks, self._adders = (
            _resources(free)
            for free in (occupied.ports, occupied.cards, occupied.uplinks, occupied.adders)
        )

    def serve(self, own: Round, bounds: IntArray, entered: FloatArray) -> bool:
        """Serve a round; `entered` is then when each rank is done with it. False where messages
        are not served in the order of the schedule."""
        served: bool = serve_shared_round(
            own.src, own.dst, own.start, own.stop, own.reduce, bounds, entered, self._done,
            self._ports, self._cards, self._uplinks, self._adders,
            self._hosts, self._groups, *self._links, self._uplink_share,
        )  # fmt: skip
        return served

    def outcome(self, starts: FloatArray, finishes: FloatArray) -> Outcome:
        """Return what came of it."""
        every = self._ports, self._cards, self._uplinks, self._adders
        busy, free = ([own[name].copy() for own in every] for name in ("busy", "free"))
        return Outcome(
            starts=starts,
            finishes=finishes,
            ports=busy[0],
            cards=busy[1],
            uplinks=busy[2],
            adding=busy[3],
            occupied=Occupied(ports=free[0], cards=free[1], uplinks=free[2], adders=free[3]),
        )


def _costs(link: Link) -> tuple[float, float, float, float]:
    return link.latency + link.overhead, link.overhead, link.byte_time, link.reduce_time


def _resources(free: FloatArray) -> npt.NDArray[np.void]:
    resources = np.zeros(free.shape, dtype=RESOURCE)
    resources["free"] = free
    resources["ready"] = resources["kept"] = -np.inf
    return resources
