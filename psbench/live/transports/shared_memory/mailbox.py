"""Messages in shared memory: the sender posts where they lie, the receiver copies them from there.

Short messages lie in the mailbox itself, so their sender may go on at once.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from psbench.live.machine import control, mail, waiting
from psbench.live.transports.base import Message
from psbench.live.transports.shared_memory.world import World


class MailboxChannel:
    """One mailbox to, and one from, each peer."""

    def __init__(self, world: World, number: int) -> None:
        self._world = world
        self._boxes = [Mailbox(world, number, peer) for peer in range(world.size)]
        self._posted_at = control.mailbox_at(number, world.rank, world.size) + control.POSTED
        self._next = np.ones(world.size, dtype=np.int64)
        """of each peer, the number of the first message that no buffer is kept for"""
        self._first = 0

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> "MailboxWork":
        work = MailboxWork()
        for peer, tensor in receives:
            work.receives.append(self._expect(peer, tensor))
        for peer, tensor in sends:
            box = self._boxes[peer]
            if number := box.send(tensor):
                work.sends.append((box, number))
        return work

    def recv_any(self, buffer: Tensor) -> int:
        doing = "receiving from any"
        peer = self._world.wait_for_any(self._posted_at, self._next, self._first, doing)
        self._first = (peer + 1) % self._world.size
        box, number = self._expect(peer, buffer)
        box.take_up_to(number)
        return peer

    def _expect(self, peer: int, buffer: Tensor) -> tuple["Mailbox", int]:
        box = self._boxes[peer]
        number = box.expect(buffer)
        self._next[peer] = number + 1
        return box, number


class Mailbox:
    """The messages of one channel between us and one peer; each is known by its number, from 1."""

    def __init__(self, world: World, channel: int, peer: int) -> None:
        self._world = world
        self._peer = peer
        self._words = world.box(channel, peer)
        self._box = self._words.ctypes.data
        self._sent = 0
        self._posted = 0
        self._unposted: deque[Tensor] = deque()
        self._staged: deque[tuple[int, Tensor]] = deque()
        self._taken = 0
        self._expecting: deque[Tensor] = deque()

    def send(self, tensor: Tensor) -> int:
        """Post a message as soon as there is a slot for it; returns the number by which the peer
        has taken it, 0 where its buffer is free at once."""
        self._sent += 1
        if self._unposted or not self._post(tensor):
            self._unposted.append(tensor)
            return self._sent
        return 0 if tensor.nbytes <= control.INLINE else self._sent

    def sent(self, number: int) -> None:
        """Wait until the peer has taken our message of that number."""
        while self._unposted:
            self._await_taken(self._posted - control.SLOTS + 1)
            self._post_what_fits()
        self._await_taken(number)
        while self._staged and self._staged[0][0] <= number:
            self._staged.popleft()

    def expect(self, buffer: Tensor) -> int:
        """Keep a buffer for the next message that none is kept for; returns its number."""
        self._expecting.append(buffer)
        return self._taken + len(self._expecting)

    def take_up_to(self, number: int) -> None:
        """Receive all messages up to that number, each into its buffer."""
        while self._taken < number:
            buffer = self._expecting.popleft()
            nbytes = buffer.nbytes
            self._world.check_open()
            status = mail.take(self._box, nbytes, buffer.data_ptr())
            if status != waiting.DONE:
                self._fail(status, nbytes)
            self._taken += 1
            if self._unposted:
                self._post_what_fits()

    def _post_what_fits(self) -> None:
        while self._unposted and self._post(self._unposted[0]):
            self._unposted.popleft()

    def _post(self, tensor: Tensor) -> bool:
        """Post a message, and return whether there was a slot for it."""
        self._world.check_open()
        nbytes, offset = tensor.nbytes, mail.IN_THE_SLOT
        if nbytes > control.INLINE:
            offset = self._in_arena(tensor)
        posted = bool(mail.send(self._box, nbytes, tensor.data_ptr(), offset))
        self._posted += posted
        return posted

    def _in_arena(self, tensor: Tensor) -> int:
        """Return where the next message lies in our memory; one that lies elsewhere is copied."""
        offset = self._world.arena.offset(tensor)
        if offset is None:
            number = self._posted + 1
            if not self._staged or self._staged[-1][0] < number:  # else by an earlier attempt
                copy = self._world.arena.zeros(tensor.numel(), tensor.dtype)
                copy.copy_(tensor)
                self._staged.append((number, copy))
            offset = self._world.arena.offset(self._staged[-1][1])
            assert offset is not None
        return offset

    def _await_taken(self, number: int) -> None:
        self._world.check_open()
        self._world.check(mail.await_taken(self._box, number), "sending")

    def _fail(self, status: int, nbytes: int) -> None:
        if status == waiting.DISAGREES:
            told = self._words[mail.TOLD]
            self._world.disagree(self._peer, f"sends {told} bytes where {nbytes} are expected")
        self._world.check(status, "receiving")


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
