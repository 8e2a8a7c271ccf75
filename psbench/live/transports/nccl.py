"""NCCL: vectors go from GPU to GPU, and a group of gloo beside it carries what lies on the host.

Facts that shape it: a communicator is made by its first collective, in which all ranks must take
part; the messages of a round must be one group, or a rank that sends before it receives waits for
ever; NCCL has no tags, no receive from any, and refuses two ranks on one GPU. Its calls return when
the work is queued. One that never ends is ended, with its process, by torch's watchdog after
`deadline`; before that the engine finds out which process died or is stopped.
"""

import contextlib
import socket
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from psbench.errors import TransportError
from psbench.live.transports.base import Capabilities, Channel, Message, Work
from psbench.live.transports.process_group import (
    ProcessGroupEndpoint,
    ProcessGroupTransport,
    guarded,
)


class NcclEndpoint:
    """A listening socket, as of gloo: both groups meet at the first rank's.

    Raises TransportError, naming the host, where NCCL or a GPU is missing.
    """

    def __init__(self, host: str) -> None:
        if not dist.is_nccl_available() or not torch.cuda.is_available():
            missing = "a GPU" if dist.is_nccl_available() else "NCCL"
            raise TransportError(
                f"nccl: torch {torch.__version__} on {socket.gethostname()} has not got {missing}; "
                f"install torch for CUDA there, or write gloo"
            )
        self._beside = ProcessGroupEndpoint(host)

    @property
    def address(self) -> str:
        """Return "host:port"."""
        return self._beside.address

    def connect(
        self,
        addresses: Sequence[str],
        *,
        rank: int,
        generation: int,
        deadline: float,
        join_seconds: float | None = None,
        names: Sequence[str] | None = None,
    ) -> "NcclTransport":
        beside = self._beside.connect(
            addresses,
            rank=rank,
            generation=generation,
            deadline=deadline,
            join_seconds=join_seconds,
            names=names,
        )
        seconds = deadline if join_seconds is None else join_seconds
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = timedelta(seconds=deadline)
        store = dist.PrefixStore("nccl", beside.store)
        group = dist.ProcessGroupNCCL(store, rank, len(addresses), options)
        transport = NcclTransport(group, beside)
        try:
            transport.open(timedelta(seconds=seconds))
        except BaseException:
            transport.close()
            raise
        return transport

    def close(self) -> None:
        self._beside.close()


class NcclTransport:
    """A group of NCCL, and one of gloo `beside` it for tensors of the host and for barriers."""

    name = "nccl"
    capabilities = Capabilities(recv_any=False, native_all_reduce=True)

    def __init__(self, group: "dist.ProcessGroupNCCL", beside: ProcessGroupTransport) -> None:
        self._group: dist.ProcessGroupNCCL | None = group
        self.beside = beside
        self.rank = beside.rank
        self.size = beside.size
        self.peers = beside.peers
        self.deadline = beside.deadline
        self._device = torch.device("cuda", 0)  # of those that this process sees
        self._in_use: int | None = None

    def open(self, limit: timedelta) -> None:
        """Make the communicator, with all ranks. Raises PeerLost or PeerTimeout."""
        one = torch.zeros(1, device=self._device)
        guarded(lambda: self.group.allreduce([one]).wait(limit), self.beside.everyone)

    def allocate(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        return torch.zeros(numel, dtype=dtype, device=self._device)

    def channel(self, number: int) -> Channel:
        return NcclChannel(self, number)

    def use(self, channel: int) -> None:
        """Note that tensors of GPUs go by a channel: the only one, as there are no tags."""
        assert self._in_use in (None, channel), "NCCL cannot tell channels apart"
        self._in_use = channel

    def native_all_reduce(self, vector: Tensor, world: int) -> None:
        assert world == self.size, "the backend's all-reduce is over the whole world"
        guarded(lambda: self.group.allreduce([vector]).wait(), self.beside.everyone)

    def barrier(self) -> None:
        self.beside.barrier()

    def close(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            with contextlib.suppress(RuntimeError):  # what failed before is what to tell
                group.abort()  # also where all went well: nothing is under way then
        self.beside.close()

    @property
    def group(self) -> "dist.ProcessGroupNCCL":
        """The group of NCCL; an error once closed."""
        if self._group is None:
            raise TransportError("the transport is closed")
        return self._group


class NcclChannel:
    """Messages of one channel: those of GPUs by NCCL, those of the host by gloo."""

    def __init__(self, transport: NcclTransport, number: int) -> None:
        self._transport = transport
        self._number = number
        self._beside = transport.beside.channel(number)

    def exchange(self, sends: Sequence[Message], receives: Sequence[Message]) -> Work:
        # both sides of a message know its length, and NCCL needs no message without elements
        out = [(peer, tensor) for peer, tensor in sends if tensor.is_cuda and len(tensor)]
        into = [(peer, tensor) for peer, tensor in receives if tensor.is_cuda and len(tensor)]
        of_host = self._beside.exchange(
            [(peer, tensor) for peer, tensor in sends if not tensor.is_cuda],
            [(peer, tensor) for peer, tensor in receives if not tensor.is_cuda],
        )
        if not out and not into:
            return of_host
        self._transport.use(self._number)
        what = f"exchanging with {self._names(out, into)}"
        started = guarded(lambda: self._start(out, into), what)
        return NcclWork(started, of_host, what, self._transport.deadline)

    def recv_any(self, buffer: Tensor) -> int:
        raise AssertionError("NCCL cannot receive from any: see capabilities")

    def _start(self, sends: Sequence[Message], receives: Sequence[Message]) -> dist.Work:
        group = self._transport.group
        group._start_coalescing()
        for peer, tensor in sends:
            group.send([tensor], peer, 0)
        for peer, tensor in receives:
            group.recv([tensor], peer, 0)
        work: dist.Work = group._end_coalescing()
        return work

    def _names(self, *messages: Sequence[Message]) -> str:
        peers = sorted({peer for some in messages for peer, _ in some})
        return ", ".join(self._transport.peers[peer] for peer in peers)


class NcclWork:
    """A group of sends and receives under way on the device, and those of the host beside it."""

    def __init__(self, started: dist.Work, of_host: Work, what: str, deadline: timedelta) -> None:
        self._started = started
        self._of_host = of_host
        self._what = what
        self._deadline = deadline

    def wait(self) -> None:
        self._of_host.wait()
        guarded(self._started.wait, self._what)

    def synchronize(self) -> None:
        self._of_host.synchronize()
        guarded(lambda: self._started.wait(self._deadline), self._what)
        torch.cuda.current_stream().synchronize()
