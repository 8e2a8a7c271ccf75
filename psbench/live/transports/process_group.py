"""torch.distributed as a transport: gloo, over TCP.

Facts that shape it: gloo ends the process where a message is longer than the buffer for it, so
lengths are agreed on before (see `live.headers`); its Work says `is_completed` only after a wait;
a receive from any source doesn't notice that a peer died, so the engine watches over processes.
"""

import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from psbench.errors import PeerLost, PeerTimeout, TransportError
from psbench.live.transports.base import Capabilities, Channel, Message

T = TypeVar("T")

_THREADS = 2  # of gloo, for sockets
_BACKLOG = 128
_FIRST_TAG = 16
_OF_BACKENDS = ("gloo", "onnection", "NCCL")  # one of these is in what a backend complains of


class ProcessGroupEndpoint:
    """A listening socket on one interface; the first rank's becomes the world's store."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._socket = socket.create_server((host, 0), backlog=_BACKLOG)

    @property
    def address(self) -> str:
        """Return "host:port"."""
        return f"{self._host}:{self._socket.getsockname()[1]}"

    def connect(
        self,
        addresses: Sequence[str],
        *,
        rank: int,
        generation: int,
        deadline: float,
        join_seconds: float | None = None,
        names: Sequence[str] | None = None,
    ) -> "ProcessGroupTransport":
        seconds = deadline if join_seconds is None else join_seconds
        peers = names or [f"rank {peer}" for peer in range(len(addresses))]
        try:
            timeout = timedelta(seconds=seconds)
            store = self._store(addresses, rank, generation, timeout)
            group = self._group(store, rank, len(addresses), timeout)
        except (RuntimeError, OSError) as error:
            raise PeerTimeout(
                f"{peers[rank]} could not join the world of {len(addresses)} processes at "
                f"{addresses[0]} (limit {seconds:g} s): {_first_line(error)}"
            ) from error
        finally:
            self.close()
        return ProcessGroupTransport(group, store, rank=rank, peers=peers, deadline=deadline)

    def close(self) -> None:
        self._socket.close()

    def _store(
        self, addresses: Sequence[str], rank: int, generation: int, timeout: timedelta
    ) -> dist.Store:
        host, _, port = addresses[0].rpartition(":")
        # rank 0's store listens on the socket that is already bound to one interface: by itself
        # it would bind to all of them
        listening = self._socket.detach() if rank == 0 else None
        store = dist.TCPStore(
            host,
            int(port),
            is_master=rank == 0,
            timeout=timeout,
            wait_for_workers=False,
            master_listen_fd=listening,
        )
        return dist.PrefixStore(f"generation-{generation}", store)

    def _group(
        self, store: dist.Store, rank: int, size: int, timeout: timedelta
    ) -> dist.ProcessGroupGloo:
        options = dist.ProcessGroupGloo._Options()
        options._devices = [dist.ProcessGroupGloo.create_device(hostname=self._host)]
        options._timeout = timeout
        options._threads = _THREADS
        return dist.ProcessGroupGloo(store, rank, size, options)


class ProcessGroupTransport:
    """A process group of torch.distributed behind the transport contract."""

    name = "gloo"
    capabilities = Capabilities(recv_any=True, native_all_reduce=True)

    def __init__(
        self,
        group: dist.ProcessGroupGloo,
        store: dist.Store,
        *,
        rank: int,
        peers: Sequence[str],
        deadline: float,
    ) -> None:
        self._group: dist.ProcessGroupGloo | None = group
        self.store = store
        """where the processes met; another group of theirs may meet there, too"""
        self.rank = rank
        self.size = len(peers)
        self.peers = peers
        self.deadline = timedelta(seconds=deadline)

    def allocate(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        return torch.zeros(numel, dtype=dtype)

    def channel(self, number: int) -> Channel:
        return ProcessGroupChannel(self, _FIRST_TAG + number)

    def native_all_reduce(self, vector: Tensor, world: int) -> None:
        assert world == self.size, "the backend's all-reduce is over the whole world"
        guarded(lambda: self.group.allreduce([vector]).wait(self.deadline), self.everyone)

    def barrier(self) -> None:
        guarded(lambda: self.group.barrier().wait(self.deadline), self.everyone)

    def close(self) -> None:
        self._group = None

    @property
    def everyone(self) -> str:
        """What is waited for in a collective of all."""
        return f"waiting for any of {', '.join(self.peers)}"

    @property
    def group(self) -> dist.ProcessGroupGloo:
        """The process group; an error once closed."""
        if self._group is None:
            raise TransportError("the transport is closed")
        return self._group


class ProcessGroupChannel:
    """A tag of a process group."""

    def __init__(self, transport: ProcessGroupTransport, tag: int) -> None:
        self._transport = transport
        self._tag = tag

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> "GlooWork":
        group, parts = self._transport.group, []
        for verb, start, messages in (
            ("receiving from", group.recv, receives),
            ("sending to", group.send, sends),
        ):
            for peer, tensor in messages:
                what = f"{verb} {self._transport.peers[peer]}"
                parts.append((what, guarded(lambda: start([tensor], peer, self._tag), what)))  # noqa: B023
        return GlooWork(parts, self._transport.deadline)

    def recv_any(self, buffer: Tensor) -> int:
        transport = self._transport

        def receive() -> int:
            work = transport.group.recv_anysource([buffer], self._tag)
            work.wait(transport.deadline)
            return int(work._source_rank())

        return guarded(receive, f"receiving from any of {', '.join(transport.peers)}")


class GlooWork:
    """Sends and receives under way, each with a word on what it is."""

    def __init__(self, parts: list[tuple[str, dist.Work]], deadline: timedelta) -> None:
        self._parts = parts
        self._deadline = deadline

    def wait(self) -> None:
        for what, work in self._parts:
            guarded(lambda: work.wait(self._deadline), what)  # noqa: B023
        self._parts = []

    synchronize = wait


def guarded(call: Callable[[], T], what: str) -> T:
    """Run a call of gloo or NCCL; its failures become PeerTimeout or PeerLost about `what`."""
    try:
        return call()
    except RuntimeError as error:
        text = _first_line(error)
        if not any(word in text for word in _OF_BACKENDS):
            raise  # a bug of ours, no peer's doing
        kind = PeerTimeout if "imed out" in text or "imeout" in text else PeerLost
        raise kind(f"{what}: {text}") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
