"""How the actors of a world find one another."""

import secrets
from collections.abc import Sequence

from psbench.live.transports.object_store.arrivals import close_endpoint, open_endpoint
from psbench.live.transports.object_store.peer import Peer, address_of
from psbench.live.transports.object_store.transport import ObjectStoreTransport


class ObjectStoreEndpoint:
    """A name in the Ray actor that this process is; `host` plays no part.

    The actor has a method `deliver`, in a concurrency group of its own, that hands what it is
    called with to `arrivals.deliver`. Raises TransportError where this process is no actor.
    """

    def __init__(self, host: str) -> None:
        del host
        self._name = secrets.token_hex(8)
        self._address = address_of(self._name)
        self._arrivals = open_endpoint(self._name)

    @property
    def address(self) -> str:
        """Return the name, and a handle of the actor that it is in."""
        return self._address

    def connect(
        self,
        addresses: Sequence[str],
        *,
        rank: int,
        generation: int,
        deadline: float,
        join_seconds: float | None = None,
        names: Sequence[str] | None = None,
    ) -> ObjectStoreTransport:
        seconds = deadline if join_seconds is None else join_seconds
        names = names or [f"rank {peer}" for peer in range(len(addresses))]
        peers = [Peer.at(address, name) for address, name in zip(addresses, names, strict=True)]
        transport = ObjectStoreTransport(peers, self._arrivals, rank=rank, deadline=deadline)
        try:
            transport.join(generation, seconds)
        except BaseException:
            self.close()
            raise
        return transport

    def close(self) -> None:
        close_endpoint(self._name)
