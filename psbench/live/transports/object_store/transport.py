"""Ray behind the contract of a transport: messages are arguments of calls between actors.

Small arguments (up to 100 KB) travel inside the call; Ray puts larger ones into the object store,
where the receiver reads them in place and copies them into its buffer. The call's answer says that
a message has come: until then its sender waits. The store lets go of a message once that is
answered and the receiver has copied it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from psbench.errors import Mismatch, PeerLost, PeerTimeout, TransportError
from psbench.live.transports.base import Capabilities, Channel, Message
from psbench.live.transports.object_store.arrivals import Arrivals, Key, Payload, close_endpoint
from psbench.live.transports.object_store.peer import Peer

_PATIENCE = 0.25
"""Seconds of waiting after which we look whether those we wait for live, again and again."""
_GRACE = 1.0
"""Seconds by which a process may reach its deadline later than one that waits for it."""
_JOINING, _BARRIER = -1, -2
"""Channels of our own."""
_NOTHING = np.zeros(0, dtype=np.uint8)


class ObjectStoreTransport:
    """One of `peers`, with what came to it."""

    name = "object_store"
    capabilities = Capabilities(recv_any=True, native_all_reduce=False)

    def __init__(
        self, peers: Sequence[Peer], arrivals: Arrivals, *, rank: int, deadline: float
    ) -> None:
        self.rank = rank
        self.size = len(peers)
        self.peers: Sequence[str] = [peer.name for peer in peers]
        self.others = [peer for peer in range(self.size) if peer != rank]
        self._deadline = deadline
        self._processes = peers
        self._arrivals = arrivals
        self._channels: dict[int, ObjectStoreChannel] = {}
        self._pings: dict[int, Any] = {}

    def join(self, generation: int, seconds: float) -> None:
        """Greet all others, and wait for their greetings of the same generation.

        Raises PeerTimeout where they do not come within `seconds`.
        """
        until = time.monotonic() + seconds
        for peer in self.others:
            self._processes[peer].deliver((_JOINING, self.rank, generation), _NOTHING)
        greetings = [(_JOINING, peer, generation) for peer in self.others]
        missing = [
            self.peers[key[1]]
            for key in greetings
            if self._arrivals.await_any([key], until - time.monotonic()) is None
        ]
        if missing:
            raise PeerTimeout(
                f"{self.peers[self.rank]} could not join {', '.join(missing)} by way of Ray's "
                f"actors (limit {seconds:g} s)"
            )
        for key in greetings:
            self._arrivals.pop(key)

    def allocate(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        return torch.zeros(numel, dtype=dtype)

    def channel(self, number: int) -> Channel:
        assert number >= 0, f"no channel {number}"
        return self._channel(number)

    def _channel(self, number: int) -> "ObjectStoreChannel":
        if number not in self._channels:
            self._channels[number] = ObjectStoreChannel(self, number)
        return self._channels[number]

    def native_all_reduce(self, vector: Tensor, world: int) -> None:
        raise TransportError("Ray has no all-reduce of its own: native runs over gloo")

    def barrier(self) -> None:
        # all tell all, so that who is not there is named, and not who waits for it
        nothing = [(peer, torch.empty(0)) for peer in self.others]
        self._channel(_BARRIER).exchange(nothing, nothing).synchronize()

    def close(self) -> None:
        close_endpoint(self._processes[self.rank].endpoint)

    def check_open(self) -> None:
        """Raise TransportError once closed, and what it failed with once it has failed."""
        self._arrivals.check()

    def send(self, peer: int, key: Key, payload: Payload) -> Any:
        """Start to send a message, whose memory may be used again at once; returns the call."""
        return self._processes[peer].deliver(key, payload)

    def confirm(self, peer: int, call: Any) -> None:
        """Wait until a peer has what was sent to it by `call`. Raises PeerLost or PeerTimeout."""
        until = time.monotonic() + self._deadline
        while not self._answered(peer, call, max(0.0, min(_PATIENCE, until - time.monotonic()))):
            self.check_open()
            if time.monotonic() >= until:
                self._late([peer], "sending")

    def receive(self, key: Key, buffer: Tensor) -> None:
        """Wait for a message and copy it into a buffer. Raises PeerLost, PeerTimeout, Mismatch."""
        self.await_any([key])
        payload, into = self._arrivals.pop(key), as_array(buffer)
        if payload.nbytes != into.nbytes:
            sender = self.peers[key[1]]
            self._fail(
                Mismatch(f"{sender} sends {payload.nbytes} bytes where {into.nbytes} are expected")
            )
        np.copyto(into, payload)

    def await_any(self, keys: list[Key]) -> Key:
        """Wait for one of these messages and return which. Raises PeerLost or PeerTimeout."""
        until = time.monotonic() + self._deadline
        while True:
            seconds = min(_PATIENCE, until - time.monotonic())
            found = self._arrivals.await_any(keys, seconds)
            if found is not None:
                return found
            silent = [peer for _, peer, _ in keys if self._silent(peer)]
            if time.monotonic() >= until:
                if not silent:  # they wait themselves, and will say for whom
                    self._arrivals.await_any([], _GRACE)
                self._late(silent or [peer for _, peer, _ in keys], "receiving")

    def _silent(self, peer: int) -> bool:
        """Return whether a peer owes an answer to our last ping; else send another. Raises
        PeerLost."""
        asked = self._pings.get(peer)
        silent = asked is not None and not self._answered(peer, asked, 0.0)
        if not silent:
            self._pings[peer] = self._processes[peer].deliver(None, None)
        return silent

    def _answered(self, peer: int, call: Any, seconds: float) -> bool:
        """Return whether a peer answers a call within `seconds`. Raises PeerLost."""
        try:
            return self._processes[peer].answered(call, seconds)
        except PeerLost as error:
            self._fail(error)

    def _late(self, peers: list[int], doing: str) -> NoReturn:
        names = ", ".join(self.peers[peer] for peer in peers)
        names = names if len(peers) == 1 else f"any of {names}"
        self._fail(PeerTimeout(f"{names} did not come within {self._deadline:g} s ({doing})"))

    def _fail(self, error: TransportError) -> NoReturn:
        """Raise `error`; the others, who may wait for us, give up for the same reason."""
        self.check_open()  # who was told of one before does not come up with another
        self._arrivals.fail(error)
        for peer in self.others:
            self._processes[peer].deliver(None, error)
        raise error


class ObjectStoreChannel:
    """Messages to and from each peer, numbered as they are sent: calls may overtake one another."""

    def __init__(self, transport: ObjectStoreTransport, number: int) -> None:
        self._transport = transport
        self._number = number
        self._sent = [0] * transport.size
        self._expected = [0] * transport.size
        self._first = 0

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> "ObjectStoreWork":
        self._transport.check_open()
        return ObjectStoreWork(
            transport=self._transport,
            receives=[(self._expect(peer), buffer) for peer, buffer in receives],
            sends=[(peer, self._send(peer, tensor)) for peer, tensor in sends],
        )

    def recv_any(self, buffer: Tensor) -> int:
        size = self._transport.size
        turn = [(self._first + step) % size for step in range(size)]
        _, peer, _ = self._transport.await_any(
            [self._next(peer) for peer in turn if peer != self._transport.rank]
        )
        self._first = peer + 1
        self._transport.receive(self._expect(peer), buffer)
        return peer

    def _next(self, peer: int) -> Key:
        return self._number, peer, self._expected[peer]

    def _expect(self, peer: int) -> Key:
        key = self._next(peer)
        self._expected[peer] += 1
        return key

    def _send(self, peer: int, tensor: Tensor) -> Any:
        key = self._number, self._transport.rank, self._sent[peer]
        self._sent[peer] += 1
        return self._transport.send(peer, key, as_array(tensor))


@dataclass(kw_only=True)
class ObjectStoreWork:
    """Messages under way: buffers for those to come, calls with those that go."""

    transport: ObjectStoreTransport
    receives: list[tuple[Key, Tensor]]
    sends: list[tuple[int, Any]]

    def wait(self) -> None:
        while self.receives:
            self.transport.receive(*self.receives.pop(0))
        while self.sends:
            self.transport.confirm(*self.sends.pop(0))

    synchronize = wait


def as_array(tensor: Tensor) -> Payload:
    """Return the memory of a contiguous tensor of any dtype as bytes."""
    return tensor.view(torch.uint8).numpy()
