"""How the processes of a world find one another: Unix sockets without a name in any folder.

Each listens on an abstract address. Every pair is joined by one socket, over which both sides say
who they are and pass their memory and their eventfd on. It then says nothing more: it closes when
its process is gone.
"""

import contextlib
import os
import secrets
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from psbench.errors import PeerTimeout
from psbench.live.machine import warm
from psbench.live.transports.shared_memory import arena
from psbench.live.transports.shared_memory.transport import SharedMemoryTransport
from psbench.live.transports.shared_memory.world import Peer, World

_BACKLOG = 4096
_HELLO = struct.Struct("=8sqqqq")
_MAGIC = b"psbench1"
_CREDENTIALS = struct.Struct("=iII")


@dataclass(frozen=True, kw_only=True)
class _Ours:
    """What we tell every peer, and the deadline by which all must have told us."""

    rank: int
    size: int
    generation: int
    memory: int
    nbytes: int
    event: int
    until: float

    @property
    def left(self) -> float:
        """The seconds left, at least a hundredth: a socket's timeout of 0 means something else."""
        return max(self.until - time.monotonic(), 0.01)


class SharedMemoryEndpoint:
    """A listening socket in this host's abstract namespace; `host` plays no part."""

    def __init__(self, host: str) -> None:
        del host
        warm()
        self._name = f"psbench-{os.getpid()}-{secrets.token_hex(8)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(f"\0{self._name}")
        self._socket.listen(_BACKLOG)

    @property
    def address(self) -> str:
        """Return the name of the socket."""
        return self._name

    def connect(
        self,
        addresses: Sequence[str],
        *,
        rank: int,
        generation: int,
        deadline: float,
        join_seconds: float | None = None,
        names: Sequence[str] | None = None,
    ) -> SharedMemoryTransport:
        seconds = deadline if join_seconds is None else join_seconds
        names = names or [f"rank {peer}" for peer in range(len(addresses))]
        memory, nbytes = arena.create(f"{generation} {names[rank]}")
        event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        ours = _Ours(
            rank=rank,
            size=len(addresses),
            generation=generation,
            memory=memory,
            nbytes=nbytes,
            event=event,
            until=time.monotonic() + seconds,
        )
        peers = {rank: Peer(socket=None, memory=memory, nbytes=nbytes, event=event)}
        try:
            for peer in range(rank):
                peers[peer] = self._call(addresses[peer], peer, ours)
            while len(peers) < len(addresses):
                self._answer(peers, ours)
        except OSError as error:
            for known in peers.values():
                known.close()
            missing = [names[peer] for peer in range(len(addresses)) if peer not in peers]
            raise PeerTimeout(
                f"{names[rank]} could not join {', '.join(missing)} in shared memory (limit "
                f"{seconds:g} s): {error.strerror or error}; all must be on one host, in one "
                f"network namespace, and of one user"
            ) from error
        finally:
            self.close()
        members = [peers[peer] for peer in range(len(addresses))]
        return SharedMemoryTransport(World(members, rank=rank, names=names, deadline=deadline))

    def close(self) -> None:
        self._socket.close()

    def _call(self, address: str, peer: int, ours: _Ours) -> Peer:
        """Join a peer of lower rank."""
        joined = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            joined.settimeout(ours.left)
            joined.connect(f"\0{address}")
            _tell(joined, ours)
            told, found = _hear(joined, ours)
            if told != peer:
                found.close()
                raise OSError(f"rank {told} answers in the place of rank {peer}")
        except BaseException:
            joined.close()
            raise
        return found

    def _answer(self, peers: dict[int, Peer], ours: _Ours) -> None:
        """Take in one peer of higher rank; whoever else calls is sent away."""
        self._socket.settimeout(ours.left)
        joined, _ = self._socket.accept()
        try:
            joined.settimeout(ours.left)
            told, found = _hear(joined, ours)
        except OSError:
            joined.close()
            if time.monotonic() >= ours.until:
                raise
            return
        if told in peers or not ours.rank < told < ours.size:
            found.close()
            return
        peers[told] = found
        _tell(joined, ours)


def _tell(joined: socket.socket, ours: _Ours) -> None:
    hello = _HELLO.pack(_MAGIC, ours.generation, ours.rank, ours.size, ours.nbytes)
    socket.send_fds(joined, [hello], [ours.memory, ours.event])


def _hear(joined: socket.socket, ours: _Ours) -> tuple[int, Peer]:
    """Return who is at the other end and what it gave us. Raises OSError where it is none of us."""
    _, uid, _ = _CREDENTIALS.unpack(
        joined.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    if uid != os.getuid():
        raise OSError(f"a process of user {uid} called")
    hello, fds, _, _ = socket.recv_fds(joined, _HELLO.size, 2)
    try:
        if len(hello) != _HELLO.size or len(fds) != 2:
            raise OSError("the connection closed before all was said")
        magic, generation, rank, size, nbytes = _HELLO.unpack(hello)
        if (magic, generation, size) != (_MAGIC, ours.generation, ours.size):
            raise OSError(f"a process of generation {generation} in a world of {size} called")
        if os.fstat(fds[0]).st_size < nbytes:
            raise OSError(f"rank {rank} passed less memory on than it says")
    except BaseException:
        for fd in fds:
            with contextlib.suppress(OSError):
                os.close(fd)
        raise
    return rank, Peer(socket=joined, memory=fds[0], nbytes=nbytes, event=fds[1])
