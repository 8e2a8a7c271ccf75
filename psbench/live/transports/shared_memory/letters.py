"""Letters in shared memory: words in a slot of the mailbox, and a vector that stays where it is."""

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor

from psbench.live.machine import control, mail, waiting
from psbench.live.messages import Words
from psbench.live.transports.base import Work
from psbench.live.transports.shared_memory.world import World


class MailboxLetters:
    """Letters between us and each peer, by the mailboxes of a channel that carries nothing else."""

    lends = True

    def __init__(self, world: World, channel: int) -> None:
        self._world = world
        self._boxes = [world.box(channel, peer) for peer in range(world.size)]
        self._box = [words.ctypes.data for words in self._boxes]
        self._posted_at = control.mailbox_at(channel, world.rank, world.size) + control.POSTED
        self._next = np.ones(world.size, dtype=np.int64)
        """the number of the next letter of each peer"""
        self._first = 0
        self._lent: dict[int, Tensor] = {}
        self._copies: dict[int, Tensor] = {}

    def send(self, peer: int, words: Words[Any], vector: Tensor | None) -> Sequence[Work]:
        self._world.check_open()
        nbytes = offset = 0
        if vector is not None:
            nbytes, offset = vector.nbytes, self._place(peer, vector)
        box = self._box[peer]
        number = mail.send_letter(box, words.address, words.nbytes, nbytes, offset)
        return (SentLetter(self._world, box, number),) if nbytes else ()

    def receive(self, peer: int, words: Words[Any]) -> None:
        self._world.check_open()
        status = mail.find_letter(self._box[peer], words.address, words.nbytes)
        if status != waiting.DONE:
            self._world.check(status, "receiving")
        self._next[peer] += 1

    def receive_any(self, words: Words[Any]) -> int:
        doing = "receiving from any"
        peer = self._world.wait_for_any(self._posted_at, self._next, self._first, doing)
        self._first = (peer + 1) % self._world.size
        self.receive(peer, words)
        return peer

    def take(self, peer: int, into: Tensor | None) -> None:
        self._world.check_open()
        nbytes, address = (0, 0) if into is None else (into.nbytes, into.data_ptr())
        status = mail.take_found(self._box[peer], nbytes, address)
        if status != waiting.DONE:
            self._disagree(peer, nbytes)

    def expect(self, peer: int, into: Tensor) -> Work:
        raise AssertionError("what is lent is not received")

    def borrow(self, peer: int, like: Tensor) -> Tensor:
        words, lent = self._boxes[peer], self._lent.get(peer)
        nbytes, address = like.nbytes, int(words[mail.AT])
        if words[mail.TOLD] != nbytes:
            self._disagree(peer, nbytes)
        if lent is None or (lent.data_ptr(), lent.nbytes, lent.dtype) != (
            address,
            nbytes,
            like.dtype,
        ):  # else it is where the last one was
            memory = self._world.memories[peer]
            lent = memory.tensor(address - memory.address, like.numel(), like.dtype)
            self._lent[peer] = lent
        return lent

    def give_back(self, peer: int) -> None:
        self._world.check_open()
        mail.done_with(self._box[peer])

    def _place(self, peer: int, vector: Tensor) -> int:
        """Return where a vector lies in our memory; one that lies elsewhere is copied there."""
        offset = self._world.arena.offset(vector)
        if offset is None:
            copy = self._copies.get(peer)
            if copy is None or copy.nbytes != vector.nbytes:
                copy = self._copies[peer] = self._world.arena.zeros(vector.nbytes, torch.uint8)
            copy.copy_(vector.view(torch.uint8))
            offset = self._world.arena.offset(copy)
            assert offset is not None
        return offset

    def _disagree(self, peer: int, nbytes: int) -> NoReturn:
        told = self._boxes[peer][mail.TOLD]
        self._world.disagree(peer, f"sends {told} bytes where {nbytes} are expected")


class SentLetter(NamedTuple):
    """A letter with a vector, under way."""

    world: World
    box: int
    number: int

    def wait(self) -> None:
        self.synchronize()

    def synchronize(self) -> None:
        self.world.check_open()
        self.world.check(mail.await_taken(self.box, self.number), "sending")
