"""The world as one of its processes sees it: everyone's memory, how to wait for words in it."""

import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from psbench.errors import Mismatch, PeerLost, PeerTimeout, TransportError
from psbench.live.machine import control, mail, waiting
from psbench.live.transports.shared_memory.arena import Arena, Mapping

_POLLIN = 1


@dataclass(kw_only=True)
class Peer:
    """What a process knows of one of its world: the socket that joins them (None to itself), and
    descriptors of the memory and the eventfd it passed on."""

    socket: socket.socket | None
    memory: int
    nbytes: int
    event: int

    def close(self) -> None:
        """Give the descriptors back."""
        if self.socket is not None:
            self.socket.close()
        for fd in (self.memory, self.event):
            with contextlib.suppress(OSError):
                os.close(fd)


class World:
    """What `rank` shares with its peers. `names` are what users read of each process."""

    def __init__(
        self, peers: Sequence[Peer], *, rank: int, names: Sequence[str], deadline: float
    ) -> None:
        self.rank = rank
        self.size = len(peers)
        self.names = names
        self.deadline = deadline
        self._peers = list(peers)
        self.memories = [Mapping(peer.memory, peer.nbytes) for peer in peers]
        self.arena = Arena(self.memories[rank], control.control_size(self.size))
        self._context = np.zeros(waiting.CONTEXT_WORDS, dtype=np.int64)
        self._kept = self._fill_context()
        self.context = self._context.ctypes.data
        """the address that compiled functions take"""
        self._barriers = 0
        self.closed = False

    def _fill_context(self) -> list[object]:
        """Point the context at what it needs; returns that, to be kept."""
        polled = np.zeros(self.size + 1, dtype=[("fd", "i4"), ("events", "i2"), ("revents", "i2")])
        sockets = [-1 if peer.socket is None else peer.socket.fileno() for peer in self._peers]
        polled["fd"] = [self._peers[self.rank].event, *sockets]
        polled["events"] = [_POLLIN, *[0] * self.size]
        blocks = np.array([memory.address for memory in self.memories], dtype=np.int64)
        events = np.array([peer.event for peer in self._peers], dtype=np.int64)
        room = np.zeros(2, dtype=np.int64)
        for position, value in (
            (waiting.RANK, self.rank),
            (waiting.SIZE, self.size),
            (waiting.DEADLINE_NS, int(self.deadline * 1e9)),
            (waiting.POLLED, polled.ctypes.data),
            (waiting.BLOCKS, blocks.ctypes.data),
            (waiting.EVENTS, events.ctypes.data),
            (waiting.ROOM, room.ctypes.data),
        ):
            self._context[position] = value
        return [polled, blocks, events, room]

    def words(self, rank: int, offset: int, number: int) -> npt.NDArray[np.int64]:
        """Return int64 words of a process's memory, as a view."""
        return self.memories[rank].bytes[offset : offset + 8 * number].view(np.int64)

    def box(self, channel: int, peer: int) -> npt.NDArray[np.int64]:
        """Return the words that `machine.mail` keeps of messages to and from a peer, before any."""
        words = np.zeros(mail.BOX_WORDS, dtype=np.int64)
        words[mail.CONTEXT] = self.context
        words[mail.PEER] = peer
        words[mail.OURS] = control.mailbox_at(channel, peer, self.size)
        words[mail.THEIRS] = control.mailbox_at(channel, self.rank, self.size)
        return words

    def barrier(self) -> None:
        """Wait until all have come here."""
        self.check_open()
        self._barriers += 1
        self.check(waiting.barrier(self.context, self._barriers), "waiting at a barrier")

    def wait_for_any(self, offset: int, values: np.ndarray, first: int, doing: str) -> int:
        """Return a peer, of those from `first` on the next, whose word at `offset` is at least its
        value. Raises PeerLost or PeerTimeout."""
        self.check_open()
        found = int(waiting.wait_for_any(self.context, offset, values, first))
        if found < 0:
            self.check(-found, doing)
        return found

    @property
    def culprit(self) -> int:
        """Whom the last compiled function that failed is about; -1 for nobody alone."""
        return int(self._context[waiting.CULPRIT])

    def header(self, peer: int, channel: int, number: int) -> list[int]:
        """Return the first words of what a peer says of the channel's present collective."""
        call = int(self._context[waiting.CALLS + 2 * channel])
        place = control.header_at(channel, call)
        return [int(word) for word in self.words(peer, place, number)]

    def check(self, status: int, doing: str) -> None:
        """Raise what a compiled function ended with, unless it is well; the peers give up too."""
        if status == waiting.DONE:
            return
        culprit = self.culprit
        self.give_up(status, culprit)
        name = self.names[culprit] if culprit >= 0 else self._anyone()
        if status == waiting.LOST:
            raise PeerLost(f"{name} is gone ({doing})")
        if status == waiting.MISMATCH:
            raise Mismatch(f"{name} does not agree with another ({doing})")
        assert status == waiting.LATE
        raise PeerTimeout(f"{name} did not come within {self.deadline:g} s ({doing})")

    def _anyone(self) -> str:
        others = [name for rank, name in enumerate(self.names) if rank != self.rank]
        return f"any of {', '.join(others)}"

    def give_up(self, status: int, culprit: int) -> None:
        """Tell the peers that we fail, and because of whom, so that they fail for that reason."""
        waiting.give_up(self.context, status, culprit)

    def disagree(self, peer: int, text: str) -> NoReturn:
        """Give up because of what a peer says. Raises Mismatch."""
        self.give_up(waiting.MISMATCH, peer)
        raise Mismatch(f"{self.names[peer]} {text}")

    def check_open(self) -> None:
        """Raise TransportError once closed."""
        if self.closed:
            raise TransportError("the transport is closed")

    def close(self) -> None:
        """Leave in good order. Memory goes with the last vector in it. Idempotent."""
        if self.closed:
            return
        self.closed = True
        self.words(self.rank, control.LEFT, 1)[0] = 1
        for peer in self._peers:
            peer.close()
