"""The contract of a transport: what carries bytes between the processes of one world.

Messages are first-in-first-out per (peer, channel). A buffer may not change until the Work it was
given to is done. Every wait has a deadline. Failures are `PeerLost` or `PeerTimeout`, naming peers;
a transport that failed is closed and never used again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

Message = tuple[int, Tensor]
"""A peer and a contiguous 1-D tensor: sent from, or received into. It may be of length 0."""

FROM_ANY = 1
"""The one channel on which messages are received from any peer: a transport that reaches its peers
in several ways sends all messages of this channel in the same."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a transport can do beyond sending and receiving."""

    recv_any: bool
    native_all_reduce: bool


class Work(Protocol):
    """Messages under way."""

    def wait(self) -> None:
        """Order the current stream after the messages; for host memory, the same as synchronize.

        Raises PeerLost or PeerTimeout.
        """

    def synchronize(self) -> None:
        """Block the host until the messages are done: buffers may be read, changed, reused."""


class Channel(Protocol):
    """One stream of messages between each pair of peers, apart from those of other channels."""

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> Work:
        """Start all sends and receives of one round, in the order given for each peer."""

    def recv_any(self, buffer: Tensor) -> int:
        """Receive the next message of any peer into `buffer`; block, and return whose it was.

        On channel FROM_ANY alone.
        """


class Endpoint(Protocol):
    """A process's address before its world exists. Made with the host whose interface it is on."""

    @property
    def address(self) -> str:
        """Where the others find it, such as "host:port"."""

    def connect(
        self,
        addresses: Sequence[str],
        *,
        rank: int,
        generation: int,
        deadline: float,
        join_seconds: float | None = None,
        names: Sequence[str] | None = None,
    ) -> "Transport":
        """Join the world of these addresses as `rank`; the endpoint is used up.

        The generation keeps a late process of an earlier world out. `deadline` is that of each
        later wait, in seconds, and of joining itself where `join_seconds` names no other; `names`
        are how errors call the processes. Raises PeerTimeout.
        """

    def close(self) -> None:
        """Stop listening. Idempotent."""


class Transport(Protocol):
    """The endpoint of one process in a world of `size` processes."""

    name: str
    rank: int
    size: int
    peers: Sequence[str]
    """what users read of each process, such as "rank 2" or "server 0" """
    capabilities: Capabilities

    def allocate(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        """Return a flat vector of zeros, shape (numel,), in memory this transport likes best."""

    def channel(self, number: int) -> Channel:
        """Return the channel of that number; the same on both sides of a conversation."""

    def native_all_reduce(self, vector: Tensor, world: int) -> None:
        """Sum `vector` over ranks 0 to world - 1 in place, by the backend's own algorithm."""

    def barrier(self) -> None:
        """Block until every process of the world has come here."""

    def close(self) -> None:
        """Give sockets, threads and memory back. Idempotent."""
