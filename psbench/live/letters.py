"""Requests and answers: a few words each, and behind them a vector where there is one."""

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from psbench.live.collective import as_bytes
from psbench.live.messages import Words
from psbench.live.transports import FROM_ANY, SHARED_MEMORY, Transport, Work

HEADERS, PAYLOADS = FROM_ANY, 2
"""The channels of words and of vectors, in both directions."""

MOST_LETTERS = 32
"""that may be on their way from one process to another at once: one for each shard"""


class Letters(Protocol):
    """Between this process and each of its correspondents, in the order of sending.

    A letter's words come first; what is behind them is then taken, or borrowed and given back.
    Waits raise PeerLost and PeerTimeout; a vector of another length is a Mismatch.
    """

    lends: bool
    """whether a vector stays with its sender until it is taken, and can be borrowed"""

    def send(self, peer: int, words: Words[Any], vector: Tensor | None) -> Sequence[Work]:
        """Send a letter; neither part may change before the works are done."""

    def receive(self, peer: int, words: Words[Any]) -> None:
        """Wait for the words of a peer's next letter."""

    def receive_any(self, words: Words[Any]) -> int:
        """Wait for the words of the next letter of any peer, and return whose it is."""

    def take(self, peer: int, into: Tensor | None) -> None:
        """Wait for the vector behind the words last received from a peer; None for no vector."""

    def expect(self, peer: int, into: Tensor) -> Work:
        """Be ready for the vector of a peer's next letter, before the peer sends it: in place of
        `take`. Not where letters lend."""

    def borrow(self, peer: int, like: Tensor) -> Tensor:
        """Return the vector behind the words last received from a peer, of the shape and dtype of
        `like`, where it lies: to be read, not written, until `give_back`."""

    def give_back(self, peer: int) -> None:
        """Let a peer use again what was borrowed from it."""


def letters_over(transport: Transport) -> Letters:
    """Return the letters of this process over a transport."""
    if transport.name == SHARED_MEMORY:
        from psbench.live.transports.shared_memory import SharedMemoryTransport

        assert isinstance(transport, SharedMemoryTransport)
        return transport.letters(HEADERS)
    return LettersByChannel(transport)


class LettersByChannel:
    """Letters of two messages, each over a channel of its own."""

    lends = False

    def __init__(self, transport: Transport) -> None:
        self._words = transport.channel(HEADERS)
        self._vectors = transport.channel(PAYLOADS)

    def send(self, peer: int, words: Words[Any], vector: Tensor | None) -> Sequence[Work]:
        works = [self._words.exchange([(peer, words.tensor)], [])]
        if vector is not None:
            works.append(self._vectors.exchange([(peer, as_bytes(vector))], []))
        return works

    def receive(self, peer: int, words: Words[Any]) -> None:
        self._words.exchange([], [(peer, words.tensor)]).synchronize()

    def receive_any(self, words: Words[Any]) -> int:
        return self._words.recv_any(words.tensor)

    def take(self, peer: int, into: Tensor | None) -> None:
        if into is not None:
            self.expect(peer, into).synchronize()

    def expect(self, peer: int, into: Tensor) -> Work:
        return self._vectors.exchange([], [(peer, as_bytes(into))])

    def borrow(self, peer: int, like: Tensor) -> Tensor:
        raise AssertionError("vectors that come over a channel are taken")

    def give_back(self, peer: int) -> None:
        raise AssertionError("vectors that come over a channel are taken")
