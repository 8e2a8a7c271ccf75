"""Messages in shared memory: the sender posts where they lie, the receiver copies them from there.

Short messages lie in the mailbox itself, so their sender may go on at once.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
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
        doing = "waiting for a message from any"
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
    """The messages of one channel between us and one peer; each is known by its number, from 1."""

    def __init__(self, world: World, channel: int, peer: int) -> None:
        self._world = world
        self._peer = peer
        self._name = world.names[peer]
        self._ours = control.mailbox_at(channel, peer, world.size)
        self._theirs = control.mailbox_at(channel, world.rank, world.size)
        self._sent = 0
        self._posted = 0
        self._unposted: deque[Tensor] = deque()
        self._staged: deque[tuple[int, Tensor]] = deque()
        self._taken = 0
        self._expecting: deque[Tensor] = deque()

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
        self._await_taken(number)
        self._drop_staged()

    def expect(self, buffer: Tensor) -> int:
        """Keep a buffer for the next message that none is kept for; returns its number."""
        self._expecting.append(buffer)
        return self.expected

    def take_up_to(self, number: int) -> None:
        """Receive all messages up to that number, each into its buffer."""
        while self._taken < number:
            buffer = self._expecting.popleft()
            message = self._next_message(buffer.nbytes)
            buffer.view(torch.uint8).copy_(message)
            self.taken()
            self._post_what_fits()

    def borrow(self, like: Tensor) -> Tensor:
        """Return the next message where it lies."""
        assert not self._expecting, "borrowed and received from one peer at a time"
        return self._next_message(like.nbytes).view(like.dtype)

    def taken(self) -> None:
        """Tell the peer that we are done with one more message."""
        self._taken += 1
        self._world.post(self._ours + control.TAKEN, self._taken)

    def _next_message(self, nbytes: int) -> Tensor:
        """Wait for the next message and return its bytes where they lie."""
        number = self._taken + 1
        doing = f"receiving from {self._name}"
        self._world.wait(self._peer, self._theirs + control.POSTED, number, doing)
        slot = self._slot(self._theirs, number)
        told, offset = self._world.words(self._peer, slot, 2).tolist()
        if told != nbytes:
            self._world.disagree(self._peer, f"sends {told} bytes where {nbytes} are expected")
        if offset == _IN_THE_MAILBOX:
            offset = slot + 16
        return self._world.memories[self._peer].tensor(offset, nbytes, torch.uint8)

    def _post_what_fits(self) -> None:
        taken = self._taken_by_peer()
        while self._unposted and self._posted - taken < control.SLOTS:
            self._post(self._unposted.popleft())

    def _post(self, tensor: Tensor) -> None:
        number = self._posted + 1
        slot = self._slot(self._ours, number)
        data, offset = tensor.view(torch.uint8), _IN_THE_MAILBOX
        memory = self._world.memories[self._world.rank]
        if tensor.nbytes <= control.INLINE:
            memory.tensor(slot + 16, tensor.nbytes, torch.uint8).copy_(data)
        else:
            offset = self._in_arena(number, data)
        self._world.words(self._world.rank, slot, 2)[:] = (tensor.nbytes, offset)
        self._posted = number
        self._world.post(self._ours + control.POSTED, number)

    def _in_arena(self, number: int, data: Tensor) -> int:
        """Return where the bytes lie in our memory; those that lie elsewhere are copied there."""
        offset = self._world.arena.offset(data)
        if offset is None:
            copy = self._world.arena.zeros(len(data), torch.uint8)
            copy.copy_(data)
            self._staged.append((number, copy))
            offset = self._world.arena.offset(copy)
            assert offset is not None
        return offset

    def _drop_staged(self) -> None:
        taken = self._taken_by_peer()
        while self._staged and self._staged[0][0] <= taken:
            self._staged.popleft()

    def _taken_by_peer(self) -> int:
        return int(self._world.words(self._peer, self._theirs + control.TAKEN, 1)[0])

    def _await_taken(self, number: int) -> None:
        doing = f"sending to {self._name}"
        self._world.wait(self._peer, self._theirs + control.TAKEN, number, doing)

    @staticmethod
    def _slot(box: int, number: int) -> int:
        return box + control.FIRST_SLOT + (number - 1) % control.SLOTS * control.SLOT_SIZE


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
