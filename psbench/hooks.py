"""Our all-reduces inside PyTorch's DistributedDataParallel, by one line in a script of your own:

    model.register_comm_hook(None, psbench.hooks.all_reduce("ring"))

Needs no Ray; `torch.distributed` is initialised as for DDP itself, by torchrun for example.
"""

import atexit
import os
import secrets
import socket
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, cast

import torch
import torch.distributed as dist
from torch import Tensor

from psbench.errors import SpecError, TransportError
from psbench.live.auto import ON_ONE_HOST
from psbench.live.collective import Collective, collective_for
from psbench.live.counters import Counters
from psbench.live.headers import Header
from psbench.live.host import this_host
from psbench.live.transports import (
    AUTO,
    OBJECT_STORE,
    OF_HOST_MEMORY,
    SHARED_MEMORY,
    Transport,
    open_endpoint,
    prepare,
    resolve_transport,
)
from psbench.schedules import ALGORITHMS, Schedule, schedule_for
from psbench.spec.messages import unknown

__all__ = ["Hook", "all_reduce"]

_TRANSPORTS = (*(name for name in OF_HOST_MEMORY if name != OBJECT_STORE), AUTO)
_JOIN_SECONDS = 60.0


class Hook(Protocol):
    """What `DistributedDataParallel.register_comm_hook` takes."""

    transport: str
    """What carries the buckets, such as "shared_memory": what "auto" took."""

    def __call__(self, state: object, bucket: Any, /) -> torch.futures.Future[Tensor]:
        """Return the bucket's mean over all ranks, once it is there."""


def all_reduce(
    algorithm: str = "ring",
    *,
    chunks: int | None = None,
    transport: str = AUTO,
    group: dist.ProcessGroup | None = None,
    deadline: float = 300.0,
) -> Hook:
    """Return a hook for `DistributedDataParallel.register_comm_hook` that averages each bucket by
    one of our schedules, and says in its attribute `transport` what carries them.

    Call it on every rank of `group` (None: the default one) alike, after `init_process_group`: it
    forms a world of its own beside it. `algorithm` is one of `psbench schedule`, and `chunks` how
    many it cuts a bucket into where it takes any number (None: its default). `transport` is
    "shared_memory", "gloo" or "auto": shared memory inside a host, gloo between hosts. Buckets are
    averaged one after another in a thread of the hook's, while the backward pass goes on.
    `deadline` is the longest wait for a peer, in seconds; then, and where a peer is gone, the
    backward pass raises a RuntimeError: PyTorch's, with the text of our TransportError, which names
    the peer.

    Raises SpecError for what is not known or not possible, and TransportError where the ranks do
    not come together. Gradients must be on the CPU.
    """
    _known("algorithm", algorithm, ALGORITHMS)
    if transport == OBJECT_STORE:
        raise SpecError("object_store needs Ray's actors; use shared_memory or gloo")
    _known("transport", transport, _TRANSPORTS)
    world = dist.get_world_size(group)
    hosts = _told_by_all(this_host().home, group)
    per_host = _ranks_per_host(algorithm, hosts)
    schedule = schedule_for(algorithm, world, chunks, ranks_per_host=per_host)
    return _hook(_Averaging(schedule, _join(transport, hosts, group, deadline)))


def _known(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise SpecError(unknown(what, name, names))


def _told_by_all(word: str, group: dist.ProcessGroup | None) -> list[str]:
    told: list[str] = [""] * dist.get_world_size(group)
    dist.all_gather_object(told, word, group)
    return told


def _ranks_per_host(algorithm: str, hosts: Sequence[str]) -> int | None:
    if algorithm in ON_ONE_HOST:
        return None
    each = hosts.count(hosts[0])
    in_order = [host for host in dict.fromkeys(hosts) for _ in range(each)]
    if list(hosts) != in_order:
        raise SpecError(f"{algorithm} needs as many ranks on each host, numbered host by host")
    return each


def _join(
    transport: str, hosts: Sequence[str], group: dist.ProcessGroup | None, deadline: float
) -> Transport:
    """Form a world of all ranks of the group."""
    together = len(set(hosts)) == 1
    transport = resolve_transport(transport, hosts)
    if transport == SHARED_MEMORY and not together:
        raise SpecError("shared_memory needs all ranks on one host; use auto or gloo")
    prepare([transport])
    interface = "127.0.0.1" if together else _interface()
    endpoint = open_endpoint(transport, interface, home=hosts[dist.get_rank(group)])
    addresses = _told_by_all(endpoint.address, group)
    generation = int(_told_by_all(str(secrets.randbits(40)), group)[0])
    return endpoint.connect(
        addresses,
        rank=dist.get_rank(group),
        generation=generation,
        deadline=deadline,
        join_seconds=min(deadline, _JOIN_SECONDS),
    )


def _interface() -> str:
    """Return the address of ours by which we reach the host that torchrun calls the master."""
    master = os.environ.get("MASTER_ADDR", "")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((master, 9))  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as error:
        raise TransportError(f"cannot reach MASTER_ADDR={master!r}: {error}") from error


class _Averaging:
    """A world, and for each bucket a vector in memory that its transport likes best."""

    def __init__(self, schedule: Schedule, transport: Transport) -> None:
        self._schedule = schedule
        self._transport = transport
        self._buckets: dict[tuple[int, int, torch.dtype], tuple[Tensor, Collective]] = {}
        self._calls = 0
        self._counters = Counters()

    def average(self, index: int, bucket: Tensor) -> Tensor:
        """Set a bucket to its mean over all ranks, in place."""
        vector, collective = self._place(index, bucket)
        torch.div(bucket, self._transport.size, out=vector)
        header = Header.describing(vector, generation=0, step=self._calls)
        self._calls += 1
        collective.run(vector, header, self._counters)
        return bucket.copy_(vector)

    @property
    def transport(self) -> str:
        """The name of the transport."""
        return self._transport.name

    def close(self) -> None:
        """Leave the world."""
        self._transport.close()

    def _place(self, index: int, bucket: Tensor) -> tuple[Tensor, Collective]:
        numel = bucket.numel()
        key = (index, numel, bucket.dtype)  # DDP forms its buckets anew after the first step
        if key not in self._buckets:
            self._buckets[key] = (
                self._transport.allocate(numel, dtype=bucket.dtype),
                collective_for(self._transport, self._schedule, numel=numel),
            )
        return self._buckets[key]


def _hook(averaging: _Averaging) -> Hook:
    one_at_a_time = ThreadPoolExecutor(1, thread_name_prefix="psbench-hook")
    atexit.register(averaging.close)

    def all_reduce_hook(
        state: object,
        bucket: dist.GradBucket,  # type: ignore[name-defined]
    ) -> torch.futures.Future[torch.Tensor]:
        buffer, index = bucket.buffer(), bucket.index()
        if buffer.device.type != "cpu":
            raise TransportError(
                f"gradients are on {buffer.device}, and only the CPU's are carried"
            )
        begin: torch.futures.Future[None] = torch.futures.Future()
        # what this raises becomes the future's error, and of that the backward pass a RuntimeError
        average = begin.then(lambda _: averaging.average(index, buffer))
        one_at_a_time.submit(begin.set_result, None)
        return average

    # a function, since DDP asks for its __qualname__ and annotations
    hook = cast(Hook, all_reduce_hook)
    hook.transport = averaging.transport
    return hook
