"""What a worker in virtual time has under way, and may wait for."""

from collections.abc import Callable

from psbench.simulated.events import Message
from psbench.simulated.served.letters import Answer
from psbench.strategies import Shard


class Served:
    """A shard as a worker shares it with its server: a handle for the push that is under way."""

    __slots__ = ("answer", "came_s", "heard", "nbytes", "node", "pulled_version", "seq", "shard")

    def __init__(
        self, shard: Shard, node: int, nbytes: int, heard: Callable[[Message], object]
    ) -> None:
        self.shard = shard
        self.node = node
        self.nbytes = nbytes
        self.heard = heard
        """takes a request at its server"""
        self.pulled_version = 0
        self.seq = -1
        self.answer: Answer | None = None
        """to the push, once it has come"""
        self.came_s = 0.0


class Computing:
    """A backward pass under way."""

    __slots__ = ("begun_s", "samples", "seconds")

    def __init__(self, begun_s: float, seconds: float, samples: int) -> None:
        self.begun_s = begun_s
        self.seconds = seconds
        self.samples = samples
