"""The processes of a world as Ray knows them: the one file of the transports that needs ray."""

import base64
from dataclasses import dataclass
from typing import Any

import ray
from ray import cloudpickle
from ray.exceptions import GetTimeoutError, RayActorError

from psbench.errors import PeerLost, TransportError
from psbench.live.transports.object_store.arrivals import Key, Payload


def address_of(endpoint: str) -> str:
    """Return where others find an endpoint of this process: its name, and a handle of the actor.

    Raises TransportError where this process is no actor.
    """
    context = ray.get_runtime_context()
    if context.get_actor_id() is None:
        raise TransportError(
            "object_store carries messages between Ray actors, and this process is none"
        )
    handle: bytes = cloudpickle.dumps(context.current_actor)  # type: ignore[no-untyped-call]
    return f"{endpoint}:{base64.b64encode(handle).decode()}"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """An endpoint as the others see it; `name` is what users read of its process."""

    name: str
    endpoint: str
    actor: Any

    @staticmethod
    def at(address: str, name: str) -> "Peer":
        """Return the peer at an address."""
        endpoint, _, handle = address.partition(":")
        actor = cloudpickle.loads(base64.b64decode(handle))
        return Peer(name=name, endpoint=endpoint, actor=actor)

    def deliver(self, key: Key | None, content: Payload | TransportError | None) -> Any:
        """Call `arrivals.deliver` in the peer's process; what is sent may change at once. Returns
        the call, which is answered when it has come."""
        return self.actor.deliver.remote(self.endpoint, key, content)

    def answered(self, call: Any, seconds: float) -> bool:
        """Return whether a call is answered within `seconds`. Raises PeerLost."""
        try:
            there = ray.get(call, timeout=seconds)
        except GetTimeoutError:
            return False
        except RayActorError:
            raise PeerLost(f"{self.name} is gone") from None
        if not there:
            raise PeerLost(f"{self.name} has left this world")
        return True
