"""What came of collectives in virtual time."""

from dataclasses import dataclass

from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.transfers import FloatArray


@dataclass(frozen=True, kw_only=True)
class Busiest:
    """The resource that was busy for the greatest share of the time."""

    resource: str
    """port, card, uplink or adding"""
    direction: str
    """out or in; adding is in"""
    index: int
    """which rank, host or group"""
    share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """When collectives began and ended, and how long what was busy. All are seconds."""

    starts: FloatArray
    """when each rank began each collective, shape (collectives, world)"""
    finishes: FloatArray
    """when each rank was done with it, shape (collectives, world)"""
    ports: FloatArray
    """how long each rank's port was busy: sending, receiving; shape (2, world)"""
    cards: FloatArray
    """likewise each host's card, shape (2, hosts)"""
    uplinks: FloatArray
    """likewise each group's uplink, shape (2, groups)"""
    adding: FloatArray
    """how long each rank added, shape (world,)"""
    occupied: Occupied
    """what is still busy then, and until when: for a simulation of what comes after"""

    @property
    def finish(self) -> float:
        """When all ranks were done with all of them."""
        return float(self.finishes.max(initial=0.0))

    @property
    def waits(self) -> FloatArray:
        """How long each rank waited for the last one to begin, shape (collectives, world)."""
        waits: FloatArray = self.starts.max(axis=1, keepdims=True) - self.starts
        return waits

    @property
    def busiest(self) -> Busiest | None:
        """What was busy for the greatest share of the time from the first begin to the end: where
        that is near 1 it bound the collectives, and where all are low latency did. None where
        nothing took any time."""
        lasted = self.finish - float(self.starts.min(initial=0.0))
        both = ("card", self.cards), ("uplink", self.uplinks), ("port", self.ports)
        found = [
            (float(busy[side].max()), name, direction, int(busy[side].argmax()))
            for name, busy in both
            for side, direction in enumerate(("out", "in"))
        ]
        found.append((float(self.adding.max()), "adding", "in", int(self.adding.argmax())))
        seconds, resource, direction, index = max(found, key=lambda one: one[0])
        if not lasted > 0:
            return None
        return Busiest(resource=resource, direction=direction, index=index, share=seconds / lasted)
