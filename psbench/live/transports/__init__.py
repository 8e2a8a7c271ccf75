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
from psbench.live.transports.process_group import ProcessGroupEndpoint, ProcessGroupTransport

SHARED_MEMORY = "shared_memory"
OBJECT_STORE = "object_store"


def _shared_memory(host: str) -> Endpoint:
    from psbench.live.transports.shared_memory import SharedMemoryEndpoint  # imports numba

    return SharedMemoryEndpoint(host)


def _object_store(host: str) -> Endpoint:
    from psbench.live.transports.object_store import ObjectStoreEndpoint  # imports ray

    return ObjectStoreEndpoint(host)


ENDPOINTS: dict[str, Callable[[str], Endpoint]] = {
    "gloo": ProcessGroupEndpoint,
    SHARED_MEMORY: _shared_memory,
    OBJECT_STORE: _object_store,
}
"""How each transport opens an endpoint on a host's interface."""

OWN_ALL_REDUCE = ("gloo",)
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
    "OBJECT_STORE",
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
    "prepare",
    "resolve_transport",
]
