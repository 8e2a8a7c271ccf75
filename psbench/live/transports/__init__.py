"""How bytes move between processes: the contract, and the transports that keep it."""

from collections.abc import Callable, Iterable, Sequence

from psbench.live.transports.base import (
    FROM_ANY,
    Capabilities,
    Channel,
    Endpoint,
    Message,
    Transport,
    Work,
)
from psbench.live.transports.process_group import (
    ProcessGroupEndpoint,
    ProcessGroupTransport,
    guarded,
)

AUTO = "auto"
SHARED_MEMORY = "shared_memory"
MIXED = "shared_memory+gloo"
"""What `auto` stands for where some processes share a host and others do not."""
OBJECT_STORE = "object_store"
NCCL = "nccl"


def _shared_memory(host: str) -> Endpoint:
    from psbench.live.transports.shared_memory import SharedMemoryEndpoint  # imports numba

    return SharedMemoryEndpoint(host)


def _object_store(host: str) -> Endpoint:
    from psbench.live.transports.object_store import ObjectStoreEndpoint  # imports ray

    return ObjectStoreEndpoint(host)


def _nccl(host: str) -> Endpoint:
    from psbench.live.transports.nccl import NcclEndpoint

    return NcclEndpoint(host)


ENDPOINTS: dict[str, Callable[[str], Endpoint]] = {
    "gloo": ProcessGroupEndpoint,
    SHARED_MEMORY: _shared_memory,
    OBJECT_STORE: _object_store,
    NCCL: _nccl,
}
"""How each transport opens an endpoint on a host's interface."""

OF_HOST_MEMORY = tuple(name for name in ENDPOINTS if name != NCCL)
"""Those that carry what lies in host memory; NCCL carries what lies on GPUs, and nothing else."""

OWN_ALL_REDUCE = ("gloo", NCCL)
"""Those that have an all-reduce of their own, which `native` stands for."""


def prepare(names: Iterable[str]) -> None:
    """Have what these transports, or `auto`, compile compiled, before the actors need it."""
    if {SHARED_MEMORY, MIXED, AUTO} & set(names):
        from psbench.live.machine import warm  # imports numba

        warm()


def resolve_transport(asked: str, homes: Sequence[str]) -> str:
    """Return the transport that `auto` stands for, or the one asked for.

    `homes` has an entry for each process, which is the same for those of one host.
    """
    if asked != AUTO:
        return asked
    hosts = len(set(homes))
    if hosts == 1:
        return SHARED_MEMORY
    return "gloo" if hosts == len(homes) else MIXED


def open_endpoint(transport: str, interface: str, *, home: str) -> Endpoint:
    """Open an endpoint on a host's interface; `home` is the same for all processes of the host."""
    if transport == MIXED:
        from psbench.live.transports.mixed import MixedEndpoint  # imports numba

        return MixedEndpoint(interface, home)
    return ENDPOINTS[transport](interface)


__all__ = [
    "AUTO",
    "ENDPOINTS",
    "FROM_ANY",
    "MIXED",
    "NCCL",
    "OBJECT_STORE",
    "OF_HOST_MEMORY",
    "OWN_ALL_REDUCE",
    "SHARED_MEMORY",
    "Capabilities",
    "Channel",
    "Endpoint",
    "Message",
    "ProcessGroupEndpoint",
    "ProcessGroupTransport",
    "Transport",
    "Work",
    "guarded",
    "open_endpoint",
    "prepare",
    "resolve_transport",
]
