"""Shared memory behind the contract of a transport."""

import torch
from torch import Tensor

from psbench.errors import TransportError
from psbench.live.machine import control
from psbench.live.transports.base import Capabilities, Channel
from psbench.live.transports.shared_memory.letters import MailboxLetters
from psbench.live.transports.shared_memory.mailbox import MailboxChannel
from psbench.live.transports.shared_memory.world import World


class SharedMemoryTransport:
    """Vectors that peers read and write in place, words that they wait for."""

    name = "shared_memory"
    capabilities = Capabilities(recv_any=True, native_all_reduce=False)

    def __init__(self, world: World) -> None:
        self.world = world
        self.rank = world.rank
        self.size = world.size
        self.peers = world.names
        self._channels: dict[int, MailboxChannel] = {}
        self._letters: dict[int, MailboxLetters] = {}

    def allocate(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        return self.world.arena.zeros(numel, dtype)

    def channel(self, number: int) -> Channel:
        assert 0 <= number < control.CHANNELS, f"no channel {number}"
        if number not in self._channels:
            self._channels[number] = MailboxChannel(self.world, number)
        return self._channels[number]

    def letters(self, number: int) -> MailboxLetters:
        """Return the letters of a channel that carries nothing else."""
        assert number not in self._channels, f"channel {number} carries messages"
        if number not in self._letters:
            self._letters[number] = MailboxLetters(self.world, number)
        return self._letters[number]

    def native_all_reduce(self, vector: Tensor, world: int) -> None:
        raise TransportError("shared memory has no all-reduce of its own: native runs over gloo")

    def barrier(self) -> None:
        self.world.barrier()

    def close(self) -> None:
        self.world.close()
