"""What has come for the endpoints of this process and is not taken yet.

A thread of the actor's brings it (`deliver`); the thread that the endpoint belongs to takes it.
"""

import threading
import time
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from psbench.errors import TransportError

Payload = npt.NDArray[np.uint8]
Key = tuple[int, int, int]
"""A message's channel, its sender, and its number among those of the two, from 0."""


class Arrivals:
    """The messages that came to one endpoint, until it fails or closes; then it has none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._messages: dict[Key, Payload] = {}
        self._error: TransportError | None = None

    def put(self, key: Key, payload: Payload) -> None:
        """Take a message in."""
        with self._changed:
            if self._error is None:
                self._messages[key] = payload
                self._changed.notify_all()

    def fail(self, error: TransportError) -> None:
        """Drop all messages; all who wait, now or later, raise `error`."""
        with self._changed:
            self._messages.clear()  # the object store keeps what anybody refers to
            self._error = error
            self._changed.notify_all()

    def check(self) -> None:
        """Raise what this endpoint failed with, if it did."""
        if self._error is not None:
            raise self._error

    def pop(self, key: Key) -> Payload:
        """Take a message that has come. Raises what the endpoint failed with since."""
        with self._changed:
            self.check()
            return self._messages.pop(key)

    def await_any(self, keys: list[Key], seconds: float) -> Key | None:
        """Wait for one of these messages; return the first in the order of `keys` that is there,
        None where none comes in time."""
        until = time.monotonic() + seconds
        with self._changed:
            while True:
                self.check()
                found = next((key for key in keys if key in self._messages), None)
                left = until - time.monotonic()
                if found is not None or left <= 0:
                    return found
                self._changed.wait(left)


_OPEN: WeakValueDictionary[str, Arrivals] = WeakValueDictionary()
"""By the name of the endpoint: to this process what its ports are to a host."""


def open_endpoint(name: str) -> Arrivals:
    """Return the arrivals of a new endpoint, to which `deliver` brings what is sent to `name`."""
    return _OPEN.setdefault(name, Arrivals())


def close_endpoint(name: str) -> None:
    """Have nothing come to an endpoint any more. Idempotent."""
    arrivals = _OPEN.pop(name, None)
    if arrivals is not None:
        arrivals.fail(TransportError("the transport is closed"))


def deliver(endpoint: str, key: Key | None, content: Payload | TransportError | None) -> bool:
    """Bring what a peer sends to an endpoint: a message under its key or, without one, the error
    that the peer failed with, or nothing. Returns whether there is such an endpoint (still)."""
    arrivals = _OPEN.get(endpoint)
    if arrivals is None:
        return False
    if isinstance(content, TransportError):
        arrivals.fail(content)
    elif key is not None and content is not None:
        arrivals.put(key, content)
    return True
