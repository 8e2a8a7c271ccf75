"""Messages in shared memory: the sender posts where they lie, the receiver copies them from there.

Short messages lie in the mailbox itself, so their sender may go on at once.
"""

import ctypes
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from torch import Tensor

from psbench.live.machine import control
from psbench.live.transports.base import Message
from psbench.live.transports.shared_memory.world import World

_IN_THE_MAILBOX = -1


class MailboxChannel:
    """One mailbox to, and one from, each peer."""

    def __init__(self, world: World, number: int) -> None:
        self._world = world
        self._boxes = [Mailbox(world, number, peer) for peer in range(world.size)]
        place = control.mailbox_at(number, world.rank, world.size) + control.POSTED
        self._posted_at = np.full(world.size, place, dtype=np.int64)
        self._posted_at[world.rank] = -1
        self._next = np.ones(world.size, dtype=np.int64)
        self._first = 0

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> "MailboxWork":
        work = MailboxWork()
        for peer, tensor in receives:
            box = self._boxes[peer]
            work.receives.append((box, box.expect(tensor)))
        for peer, tensor in sends:
            box = self._boxes[peer]
            work.sends.append((box, box.send(tensor)))
        return work

    def recv_any(self, buffer: Tensor) -> int:
        for peer, box in enumerate(self._boxes):
            self._next[peer] = box.expected + 1
        doing = "receiving from any"
        peer = self._world.wait_for_any(self._posted_at, self._next, self._first, doing)
        self._first = (peer + 1) % self._world.size
        box = self._boxes[peer]
        box.take_up_to(box.expect(buffer))
        return peer

    def borrow(self, peer: int, like: Tensor) -> Tensor:
        """Wait for a peer's next message and return it where it lies, as a vector like `like`.

        It is the peer's memory: only read it, and `give_back` before anything else is received
        from that peer.
        """
        return self._boxes[peer].borrow(like)

    def give_back(self, peer: int) -> None:
        """Let the peer use again what was borrowed from it."""
        self._boxes[peer].taken()


class Mailbox:
    """The messages of one channel between us and one peer; each is known by its number, from 1.

    A message has a slot in its sender's mailbox: its length and where it lies, then itself if it is
    short.
    """

    def __init__(self, world: World, channel: int, peer: int) -> None:
        self._world = world
        self._peer = peer
        self._name = world.names[peer]
        self._ours = control.mailbox_at(channel, peer, world.size)
        self._theirs = control.mailbox_at(channel, world.rank, world.size)
        self._our_slots = self._slots_of(world.rank, self._ours)
        self._their_slots = self._slots_of(peer, self._theirs)
        self._taken_by_peer = world.words(peer, self._theirs + control.TAKEN, 1)
        self._sent = 0
        self._posted = 0
        self._known_taken = 0
        self._unposted: deque[Tensor] = deque()
        self._staged: deque[tuple[int, Tensor]] = deque()
        self._taken = 0
        self._expecting: deque[Tensor] = deque()

    def _slots_of(self, rank: int, box: int) -> npt.NDArray[np.int64]:
        words = control.SLOT_SIZE // 8
        slots = self._world.words(rank, box + control.FIRST_SLOT, control.SLOTS * words)
        return slots.reshape(control.SLOTS, words)

    @property
    def expected(self) -> int:
        """The number of the last message that a buffer is ready for."""
        return self._taken + len(self._expecting)

    def send(self, tensor: Tensor) -> int:
        """Post a message as soon as there is a slot for it; returns the number by which the peer
        has taken it, 0 where its buffer is free at once."""
        self._sent += 1
        self._unposted.append(tensor)
        self._post_what_fits()
        free = tensor.nbytes <= control.INLINE and not self._unposted
        return 0 if free else self._sent

    def sent(self, number: int) -> None:
        """Wait until the peer has taken our message of that number."""
        while self._unposted:
            self._await_taken(self._posted - control.SLOTS + 1)
            self._post_what_fits()
        if number > self._known_taken:
            self._await_taken(number)
        while self._staged and self._staged[0][0] <= self._known_taken:
            self._staged.popleft()

    def expect(self, buffer: Tensor) -> int:
        """Keep a buffer for the next message that none is kept for; returns its number."""
        self._expecting.append(buffer)
        return self.expected

    def take_up_to(self, number: int) -> None:
        """Receive all messages up to that number, each into its buffer."""
        while self._taken < number:
            buffer = self._expecting.popleft()
            nbytes = buffer.nbytes
            if nbytes == 0:
                self._next_message(nbytes)
            else:
                ctypes.memmove(buffer.data_ptr(), self._next_message(nbytes), nbytes)
            self.taken()
            if self._unposted:
                self._post_what_fits()

    def borrow(self, like: Tensor) -> Tensor:
        """Return the next message where it lies."""
        assert not self._expecting, "borrowed and received from one peer at a time"
        memory = self._world.memories[self._peer]
        offset = self._next_message(like.nbytes) - memory.address
        return memory.tensor(offset, like.numel(), like.dtype)

    def taken(self) -> None:
        """Tell the peer that we are done with one more message."""
        self._taken += 1
        self._world.post(self._ours + control.TAKEN, self._taken)

    def _next_message(self, nbytes: int) -> int:
        """Wait for the next message and return its address."""
        number = self._taken + 1
        self._world.wait(self._peer, self._theirs + control.POSTED, number, "receiving")
        slot = (number - 1) % control.SLOTS
        told, offset = map(int, self._their_slots[slot, :2])
        if told != nbytes:
            self._world.disagree(self._peer, f"sends {told} bytes where {nbytes} are expected")
        if offset == _IN_THE_MAILBOX:
            offset = self._theirs + control.FIRST_SLOT + slot * control.SLOT_SIZE + 16
        return self._world.memories[self._peer].address + offset

    def _post_what_fits(self) -> None:
        while self._unposted:
            if self._posted - self._known_taken >= control.SLOTS:
                self._known_taken = int(self._taken_by_peer[0])
                if self._posted - self._known_taken >= control.SLOTS:
                    return
            self._post(self._unposted.popleft())

    def _post(self, tensor: Tensor) -> None:
        slot = self._posted % control.SLOTS
        self._posted += 1
        nbytes, offset = tensor.nbytes, _IN_THE_MAILBOX
        if nbytes > control.INLINE:
            offset = self._in_arena(self._posted, tensor)
        elif nbytes:
            place = self._ours + control.FIRST_SLOT + slot * control.SLOT_SIZE + 16
            own = self._world.memories[self._world.rank]
            ctypes.memmove(own.address + place, tensor.data_ptr(), nbytes)
        self._our_slots[slot, 0] = nbytes
        self._our_slots[slot, 1] = offset
        self._world.post(self._ours + control.POSTED, self._posted)

    def _in_arena(self, number: int, tensor: Tensor) -> int:
        """Return where a message lies in our memory; one that lies elsewhere is copied there."""
        offset = self._world.arena.offset(tensor)
        if offset is None:
            copy = self._world.arena.zeros(tensor.numel(), tensor.dtype)
            copy.copy_(tensor)
            self._staged.append((number, copy))
            offset = self._world.arena.offset(copy)
            assert offset is not None
        return offset

    def _await_taken(self, number: int) -> None:
        self._world.wait(self._peer, self._theirs + control.TAKEN, number, "sending")
        self._known_taken = int(self._taken_by_peer[0])


@dataclass
class MailboxWork:
    """Messages under way."""

    receives: list[tuple[Mailbox, int]] = field(default_factory=list)
    sends: list[tuple[Mailbox, int]] = field(default_factory=list)

    def wait(self) -> None:
        for box, number in self.receives:
            box.take_up_to(number)
        for box, number in self.sends:
            box.sent(number)

    synchronize = wait
