"""Messages as calls between Ray actors, by way of Ray's object store where they are large."""

from psbench.live.transports.object_store.arrivals import deliver
from psbench.live.transports.object_store.endpoint import ObjectStoreEndpoint
from psbench.live.transports.object_store.transport import ObjectStoreTransport

__all__ = ["ObjectStoreEndpoint", "ObjectStoreTransport", "deliver"]
