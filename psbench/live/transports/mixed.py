"""Shared memory inside a host and gloo between hosts, in one world.

All processes form a world of gloo, and those of each host one of shared memory; a channel sends a
message by the way that leads to its peer. A message from any peer could come by either, and nothing
waits for both: gloo's receive from any cannot be polled, and once begun ends by a message or with
all connections, so that a thread that waits in it could not be ended. Channel FROM_ANY, on which
words go and no vectors, is therefore gloo's to all peers.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor

from psbench.errors import TransportError
from psbench.live.transports.base import FROM_ANY, Capabilities, Channel, Message, Work
from psbench.live.transports.process_group import ProcessGroupEndpoint, ProcessGroupTransport
from psbench.live.transports.shared_memory import SharedMemoryEndpoint, SharedMemoryTransport

_SEPARATOR = "|"


class MixedEndpoint:
    """An endpoint of each kind. `home` is the same for all processes of a host; the address tells
    it the others."""

    def __init__(self, host: str, home: str) -> None:
        self._home = home
        self._far = ProcessGroupEndpoint(host)
        self._near = SharedMemoryEndpoint(host)

    @property
    def address(self) -> str:
        """Return both addresses, and the home."""
        return _SEPARATOR.join((self._far.address, self._near.address, self._home))

    def connect(
        self,
        addresses: Sequence[str],
        *,
        rank: int,
        generation: int,
        deadline: float,
        join_seconds: float | None = None,
        names: Sequence[str] | None = None,
    ) -> "MixedTransport":
        names = names or [f"rank {peer}" for peer in range(len(addresses))]
        told = [address.split(_SEPARATOR, 2) for address in addresses]
        here = [peer for peer, (_, _, home) in enumerate(told) if home == self._home]
        with ExitStack() as undone:
            undone.callback(self.close)
            far = self._far.connect(
                [address for address, _, _ in told],
                rank=rank,
                generation=generation,
                deadline=deadline,
                join_seconds=join_seconds,
                names=names,
            )
            undone.callback(far.close)
            near = self._near.connect(
                [told[peer][1] for peer in here],
                rank=here.index(rank),
                generation=generation,
                deadline=deadline,
                join_seconds=join_seconds,
                names=[names[peer] for peer in here],
            )
            undone.pop_all()
        return MixedTransport(far, near, {peer: number for number, peer in enumerate(here)})

    def close(self) -> None:
        self._far.close()
        self._near.close()


class MixedTransport:
    """A world of gloo and, in it, that of this host's processes in shared memory.

    `here` gives the number of each of these in the latter.
    """

    name = "shared_memory+gloo"
    capabilities = Capabilities(recv_any=True, native_all_reduce=False)

    def __init__(
        self, far: ProcessGroupTransport, near: SharedMemoryTransport, here: Mapping[int, int]
    ) -> None:
        self.rank = far.rank
        self.size = far.size
        self.peers = far.peers
        self._far = far
        self._near = near
        self._here = here

    def allocate(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        return self._near.allocate(numel, dtype=dtype)

    def channel(self, number: int) -> Channel:
        far = self._far.channel(number)
        if number == FROM_ANY:
            return far
        return MixedChannel(far, self._near.channel(number), self._here)

    def native_all_reduce(self, vector: Tensor, world: int) -> None:
        raise TransportError(f"{self.name} has no all-reduce of its own: native runs over gloo")

    def barrier(self) -> None:
        self._far.barrier()

    def close(self) -> None:
        self._near.close()
        self._far.close()


class MixedChannel:
    """A channel of both worlds: which of them a message takes is its peer's to say."""

    def __init__(self, far: Channel, near: Channel, here: Mapping[int, int]) -> None:
        self._far = far
        self._near = near
        self._here = here

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> "MixedWork":
        return MixedWork(
            far=self._far.exchange(self._elsewhere(sends), self._elsewhere(receives)),
            near=self._near.exchange(self._on_this_host(sends), self._on_this_host(receives)),
        )

    def recv_any(self, buffer: Tensor) -> int:
        raise AssertionError(f"messages of any peer come on channel {FROM_ANY}")

    def _elsewhere(self, messages: Sequence[Message]) -> list[Message]:
        return [(peer, tensor) for peer, tensor in messages if peer not in self._here]

    def _on_this_host(self, messages: Sequence[Message]) -> list[Message]:
        return [(self._here[peer], tensor) for peer, tensor in messages if peer in self._here]


@dataclass(frozen=True, kw_only=True)
class MixedWork:
    """Messages under way in both worlds."""

    far: Work
    near: Work

    def wait(self) -> None:
        # gloo goes on by itself meanwhile; messages in memory are copied by those who wait for them
        self.near.wait()
        self.far.wait()

    synchronize = wait
