"""How bytes move between processes: the contract, and the transports that keep it."""

from collections.abc import Callable, Iterable

from psbench.live.transports.base import (
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

SHARED_MEMORY = "shared_memory"
NCCL = "nccl"


def _shared_memory(host: str) -> Endpoint:
    from psbench.live.transports.shared_memory import SharedMemoryEndpoint  # imports numba

    return SharedMemoryEndpoint(host)


def _nccl(host: str) -> Endpoint:
    from psbench.live.transports.nccl import NcclEndpoint

    return NcclEndpoint(host)


ENDPOINTS: dict[str, Callable[[str], Endpoint]] = {
    "gloo": ProcessGroupEndpoint,
    SHARED_MEMORY: _shared_memory,
    NCCL: _nccl,
}
"""How each transport opens an endpoint on a host's interface."""

OF_HOST_MEMORY = tuple(name for name in ENDPOINTS if name != NCCL)
"""Those that carry what lies in host memory; NCCL carries what lies on GPUs, and nothing else."""

OWN_ALL_REDUCE = ("gloo", NCCL)
"""Those that have an all-reduce of their own, which `native` stands for."""


def prepare(names: Iterable[str]) -> None:
    """Have what these transports compile compiled, before the actors need it."""
    if SHARED_MEMORY in names:
        from psbench.live.machine import warm  # imports numba

        warm()


def resolve_transport(asked: str) -> str:
    """Return the transport that `auto` stands for, or the one asked for."""
    return "gloo" if asked == "auto" else asked


__all__ = [
    "ENDPOINTS",
    "NCCL",
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
    "prepare",
    "resolve_transport",
]
