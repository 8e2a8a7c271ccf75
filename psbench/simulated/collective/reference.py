"""Collectives in virtual time, event by event: slow and obvious, and what `simulate` must equal.

The model. A rank enters a round of its schedule, in which it sends or receives, when it is done
with its last one; all that it sends in a round is ready then. A message occupies

- its sender's port for o + n G, and with the n G what lies on its way out: the card of the host
  where it leaves that, the uplink of the group (for its share of n G) where it leaves that;
- L + o after it began, it is ready at its receiver, and occupies port, card and uplink likewise;
- then, if it is to be added, the receiver's adding, one message after another, for n gamma.

Sends are eager: what a receiver has no port for yet waits in the network and holds up nobody. Of
all that waits somewhere, whatever may begin does, in the order of (ready, collective, round, place
in the round); what must wait for one of its ports lets others pass on its other ones.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psbench.network import Link, Topology
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.transfers import Collective, FloatArray, Transfers, transfers_of

SEND, RECEIVE = 0, 1

Resource = tuple[str, int, int]
"""A port, a card, an uplink or an adder; its side; its rank, host or group."""


def simulate_by_events(
    collectives: Sequence[Collective],
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome:
    """Simulate collectives that are in flight together; `in_turn`: a rank begins one only when it
    is done with the one before. `occupied`: what is busy at first; None: nothing."""
    simulation = _Simulation(collectives, topology, in_turn)
    simulation.occupy(occupied or Occupied.nothing(topology))
    simulation.run()
    return simulation.outcome()


@dataclass(order=True)
class _Message:
    ready: float
    """where it waits now"""
    number: int
    """its place in the order of (collective, round, place in the round)"""
    src: int = field(compare=False)
    dst: int = field(compare=False)
    nbytes: int = field(compare=False)
    reduce: bool = field(compare=False)
    stage: "_Stage" = field(compare=False)
    """of its sender"""
    into: "_Stage" = field(compare=False)
    """of its receiver"""


@dataclass(eq=False)
class _Stage:
    """A round of a collective in which a rank has messages."""

    collective: int
    rank: int
    sends: list[_Message] = field(default_factory=list)
    left: int = 0
    """messages, sent or received, that are not done"""
    entered: bool = False


class _Simulation:
    def __init__(
        self, collectives: Sequence[Collective], topology: Topology, in_turn: bool
    ) -> None:
        self._topology = topology
        self._in_turn = in_turn
        self._world = collectives[0].schedule.world
        shape = (len(collectives), self._world)
        self._ready = np.array([own.ready for own in collectives]).reshape(shape)
        self._starts = np.full(shape, math.nan)
        self._finishes = np.full(shape, math.nan)
        self._stages = _stages(transfers_of(collectives))
        self._waiting: tuple[list[_Message], list[_Message]] = ([], [])
        self._free: dict[Resource, float] = defaultdict(float)
        self._busy: dict[Resource, float] = defaultdict(float)
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0

    def occupy(self, occupied: Occupied) -> None:
        """Have resources busy at first."""
        for name, free in (
            ("port", occupied.ports),
            ("card", occupied.cards),
            ("uplink", occupied.uplinks),
            ("adder", np.stack([np.zeros_like(occupied.adders), occupied.adders])),
        ):
            for (side, index), moment in np.ndenumerate(free):
                self._free[name, side, index] = float(moment)
                self._at(float(moment), lambda _: None)

    def run(self) -> None:
        """Let time go on until nothing is left to happen."""
        for collective, rank in np.ndindex(*self._ready.shape):
            if collective == 0 or not self._in_turn:
                self._at(float(self._ready[collective, rank]), self._begin, collective, rank)
        while self._events:
            now = self._events[0][0]
            while self._events and self._events[0][0] == now:
                _, _, happens, arguments = heapq.heappop(self._events)
                happens(now, *arguments)
            for side in (SEND, RECEIVE):
                self._serve(now, side)

    def outcome(self) -> Outcome:
        """Return what came of it."""
        busy, free = self._as_arrays(self._busy), self._as_arrays(self._free)
        return Outcome(
            starts=self._starts,
            finishes=self._finishes,
            ports=busy["port"],
            cards=busy["card"],
            uplinks=busy["uplink"],
            adding=busy["adder"][RECEIVE],
            occupied=Occupied(
                ports=free["port"],
                cards=free["card"],
                uplinks=free["uplink"],
                adders=free["adder"][RECEIVE],
            ),
        )

    def _as_arrays(self, seconds: dict[Resource, float]) -> dict[str, FloatArray]:
        """Return what is known of each resource, a kind of them in an array (sides, indices)."""
        nothing = Occupied.nothing(self._topology)
        arrays = {
            "port": nothing.ports,
            "card": nothing.cards,
            "uplink": nothing.uplinks,
            "adder": np.zeros((2, self._world)),
        }
        for (name, side, index), own in seconds.items():
            arrays[name][side, index] = own
        return arrays

    def _at(self, moment: float, happens: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (moment, self._scheduled, happens, arguments))
        self._scheduled += 1

    def _begin(self, now: float, collective: int, rank: int) -> None:
        self._starts[collective, rank] = now
        self._enter_next(now, collective, rank)

    def _enter_next(self, now: float, collective: int, rank: int) -> None:
        """A rank is done with its stages so far: it enters the next, or has finished."""
        stages = self._stages[collective, rank]
        if stages and stages[0].entered:
            stages.pop(0)
        if stages:
            stages[0].entered = True
            for message in stages[0].sends:
                message.ready = now
                self._waiting[SEND].append(message)
            if not stages[0].left:
                self._enter_next(now, collective, rank)
            return
        self._finishes[collective, rank] = now
        if self._in_turn and collective + 1 < len(self._starts):
            later = max(now, float(self._ready[collective + 1, rank]))
            self._at(later, self._begin, collective + 1, rank)

    def _serve(self, now: float, side: int) -> None:
        """Begin whatever may begin on one side."""
        for message in sorted(self._waiting[side]):
            resources = self._resources(message, side)
            if any(self._free[resource] > now for resource, _ in resources):
                continue
            self._waiting[side].remove(message)
            for resource, seconds in resources:
                self._free[resource] = now + seconds
                self._busy[resource] += seconds
                self._at(now + seconds, lambda _: None)
            if side == SEND:
                self._send(now, message)
            else:
                self._receive(now, message)

    def _send(self, now: float, message: _Message) -> None:
        link = self._link(message)
        hold = link.overhead + message.nbytes * link.byte_time
        self._at(now + hold, self._done, message.stage)
        self._at(now + (link.overhead + link.latency), self._arrive, message)

    def _arrive(self, now: float, message: _Message) -> None:
        message.ready = now
        self._waiting[RECEIVE].append(message)

    def _receive(self, now: float, message: _Message) -> None:
        link = self._link(message)
        done = now + (link.overhead + message.nbytes * link.byte_time)
        if message.reduce:
            adder = ("adder", RECEIVE, message.dst)
            adding = message.nbytes * link.reduce_time
            done = max(done, self._free[adder]) + adding
            self._free[adder] = done
            self._busy[adder] += adding
        self._at(done, self._done, message.into)

    def _done(self, now: float, stage: _Stage) -> None:
        stage.left -= 1
        if stage.entered and not stage.left:
            self._enter_next(now, stage.collective, stage.rank)

    def _link(self, message: _Message) -> Link:
        topology = self._topology
        same = topology.hosts[message.src] == topology.hosts[message.dst]
        return topology.inside or topology.between if same else topology.between

    def _resources(self, message: _Message, side: int) -> list[tuple[Resource, float]]:
        """Return what a message occupies, and for how long.

        On the way out bytes come behind the overhead, of this message as of the next: so a card is
        free for the next one to begin after the time of the bytes.
        """
        topology = self._topology
        own = message.src if side == SEND else message.dst
        link = self._link(message)
        seconds = message.nbytes * link.byte_time
        resources: list[tuple[Resource, float]] = [(("port", side, own), link.overhead + seconds)]
        if topology.hosts[message.src] != topology.hosts[message.dst]:
            resources.append((("card", side, topology.hosts[own]), seconds))
        if topology.groups[message.src] != topology.groups[message.dst]:
            share = seconds * topology.uplink_share
            resources.append((("uplink", side, topology.groups[own]), share))
        return resources


def _stages(transfers: Transfers) -> dict[tuple[int, int], list[_Stage]]:
    """Return the stages of each (collective, rank), in order."""
    by_round: dict[tuple[int, int, int], _Stage] = {}
    rows = zip(
        transfers.collective.tolist(), transfers.round.tolist(), transfers.src.tolist(),
        transfers.dst.tolist(), transfers.nbytes.tolist(), transfers.reduce.tolist(), strict=True,
    )  # fmt: skip
    for number, (collective, round_, src, dst, nbytes, reduce) in enumerate(rows):
        stage, into = (
            by_round.setdefault((collective, rank, round_), _Stage(collective, rank))
            for rank in (src, dst)
        )
        stage.sends.append(_Message(0.0, number, src, dst, nbytes, reduce, stage, into))
        stage.left += 1
        into.left += 1
    stages: dict[tuple[int, int], list[_Stage]] = defaultdict(list)
    for collective, rank, round_ in sorted(by_round):
        stages[collective, rank].append(by_round[collective, rank, round_])
    return stages
