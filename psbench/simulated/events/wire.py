"""Messages between two nodes, by the model of `collective.reference`: what each occupies, and when.

A message occupies its sender's port, card and uplink when it leaves and its receiver's when it
arrives; what waits for one of its own lets others pass on theirs. Of all that waits at one moment
the first that became ready is the first to go, of equals the first that was sent.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from psbench.network import Link, Topology
from psbench.simulated.events.queue import EventQueue

SEND, RECEIVE = 0, 1
_SIDES = (SEND, RECEIVE)

Resource = tuple[str, int, int]
"""A port, a card or an uplink; its side; its node, host or group."""


class Message:
    """What is under way from `src` to `dst`; `content` is the sender's own affair."""

    hold: float  # these are for what carries it
    wire: float
    ready: float
    number: int
    resources: tuple[list[tuple[Resource, float]], ...]

    __slots__ = (
        "arrive",
        "content",
        "dst",
        "hold",
        "nbytes",
        "number",
        "ready",
        "resources",
        "sent_s",
        "src",
        "wire",
    )

    def __init__(
        self, src: int, dst: int, nbytes: int, content: Any, arrive: Callable[["Message"], object]
    ) -> None:
        self.src = src
        self.dst = dst
        self.nbytes = nbytes
        self.content = content
        self.arrive = arrive
        """is called with the message when all of it is there"""
        self.sent_s = 0.0
        """when its sender's port was done with it; known when it arrives"""


class Wire(Protocol):
    """Carries messages between the nodes of a topology, on the clock of a queue."""

    def busy(self, node: int) -> tuple[float, float]:
        """Return for how many seconds so far a node's port has been busy sending, and receiving."""

    def send(self, message: Message) -> None:
        """Send a message now."""


def wire_over(topology: Topology, queue: EventQueue) -> Wire:
    """Return what carries messages over a topology."""
    if topology.shares_nothing:
        return PortWire(len(topology.hosts), topology.between, queue)
    return SharedWire(topology, queue)


class PortWire:
    """Nodes that share nothing: each port serves what comes, in that order."""

    def __init__(self, nodes: int, link: Link, queue: EventQueue) -> None:
        self._queue = queue
        self._overhead, self._byte_time = link.overhead, link.byte_time
        self._wire = link.overhead + link.latency
        self._free = ([0.0] * nodes, [0.0] * nodes)
        self._busy = ([0.0] * nodes, [0.0] * nodes)

    def busy(self, node: int) -> tuple[float, float]:
        return self._busy_so_far(SEND, node), self._busy_so_far(RECEIVE, node)

    def _busy_so_far(self, side: int, node: int) -> float:
        return self._busy[side][node] - max(0.0, self._free[side][node] - self._queue.now)

    def send(self, message: Message) -> None:
        message.hold = self._overhead + message.nbytes * self._byte_time
        begin = self._occupy(SEND, message.src, message.hold)
        message.sent_s = begin + message.hold
        self._queue.at(begin + self._wire, self._come, message)

    def _come(self, message: Message) -> None:
        begin = self._occupy(RECEIVE, message.dst, message.hold)
        self._queue.at(begin + message.hold, message.arrive, message)

    def _occupy(self, side: int, node: int, hold: float) -> float:
        """Occupy a port as soon as it is free; return when that is."""
        free = self._free[side]
        begin = self._queue.now
        if free[node] > begin:
            begin = free[node]
        free[node] = begin + hold
        self._busy[side][node] += hold
        return begin


class SharedWire:
    """Nodes that share cards and uplinks."""

    def __init__(self, topology: Topology, queue: EventQueue) -> None:
        self._hosts, self._groups = topology.hosts, topology.groups
        self._links = (topology.between, topology.inside or topology.between)
        self._uplink_share = topology.uplink_share
        self._queue = queue
        islands = topology.hosts if topology.hosts_per_group is None else topology.groups
        self._islands: Sequence[int] = islands
        self._waiting: tuple[dict[int, list[Message]], ...] = ({}, {})
        self._called: set[tuple[int, int]] = set()
        self._free: dict[Resource, float] = {}
        self._sent = 0
        self._busy = ([0.0] * len(topology.hosts), [0.0] * len(topology.hosts))

    def busy(self, node: int) -> tuple[float, float]:
        return self._busy_so_far(SEND, node), self._busy_so_far(RECEIVE, node)

    def _busy_so_far(self, side: int, node: int) -> float:
        free = self._free.get(("port", side, node), 0.0)
        return self._busy[side][node] - max(0.0, free - self._queue.now)

    def send(self, message: Message) -> None:
        src, dst = message.src, message.dst
        link = self._links[self._hosts[src] == self._hosts[dst]]
        seconds = message.nbytes * link.byte_time
        message.hold = link.overhead + seconds
        message.wire = link.overhead + link.latency
        message.resources = tuple(self._resources(message, side, seconds) for side in _SIDES)
        message.number = self._sent = self._sent + 1
        self._put(SEND, src, message)

    def _resources(
        self, message: Message, side: int, seconds: float
    ) -> list[tuple[Resource, float]]:
        """Return what a message occupies on one side, and for how long."""
        own = (message.src, message.dst)[side]
        hosts, groups = self._hosts, self._groups
        resources: list[tuple[Resource, float]] = [(("port", side, own), message.hold)]
        if hosts[message.src] != hosts[message.dst]:
            resources.append((("card", side, hosts[own]), seconds))
        if groups[message.src] != groups[message.dst]:
            resources.append((("uplink", side, groups[own]), seconds * self._uplink_share))
        return resources

    def _put(self, side: int, node: int, message: Message) -> None:
        """Have a message wait on one side from now on."""
        message.ready = self._queue.now
        island = self._islands[node]
        self._waiting[side].setdefault(island, []).append(message)
        self._call((side, island))

    def _arrive(self, message: Message) -> None:
        self._put(RECEIVE, message.dst, message)

    def _call(self, where: tuple[int, int]) -> None:
        """Have those that wait on a side of an island looked at, once, when all that happens now
        has happened."""
        if where not in self._called:
            self._called.add(where)
            self._queue.after_all_now(self._serve, where)

    def _serve(self, where: tuple[int, int]) -> None:
        """Begin whatever may begin."""
        self._called.discard(where)
        side, island = where
        now, waiting = self._queue.now, self._waiting[side][island]
        waiting.sort(key=lambda message: (message.ready, message.number))
        left = []
        for message in waiting:
            own = message.resources[side]
            if any(self._free.get(resource, 0.0) > now for resource, _ in own):
                left.append(message)
                continue
            for resource, seconds in own:
                self._free[resource] = now + seconds
                self._queue.at(now + seconds, self._call, where)
            self._begin(side, message)
        self._waiting[side][island] = left

    def _begin(self, side: int, message: Message) -> None:
        now = self._queue.now
        node = (message.src, message.dst)[side]
        self._busy[side][node] += message.hold
        if side == SEND:
            message.sent_s = now + message.hold
            self._queue.at(now + message.wire, self._arrive, message)
        else:
            self._queue.at(now + message.hold, message.arrive, message)
