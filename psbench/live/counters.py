"""Payload bytes and messages as they are given to the transport."""

from dataclasses import dataclass, replace

from psbench.live.transports import Message

UNSEEN = -1
"""Stands for a count that nobody but the backend could have taken."""


@dataclass
class Counters:
    """Payload only: headers are the transport's own cost and not counted."""

    bytes_sent: int = 0
    bytes_received: int = 0
    messages_sent: int = 0
    messages_received: int = 0

    def add(self, sends: list[Message], receives: list[Message]) -> None:
        """Count one round."""
        for _, tensor in sends:
            self.bytes_sent += tensor.nbytes
        for _, tensor in receives:
            self.bytes_received += tensor.nbytes
        self.messages_sent += len(sends)
        self.messages_received += len(receives)

    def include(self, other: "Counters") -> None:
        """Count what another has counted."""
        self.bytes_sent += other.bytes_sent
        self.bytes_received += other.bytes_received
        self.messages_sent += other.messages_sent
        self.messages_received += other.messages_received

    def since(self, before: "Counters") -> "Counters":
        """Return what was counted after the copy `before` was taken; unseen stays unseen."""
        if self.bytes_sent == UNSEEN:
            return self.copy()
        return Counters(
            bytes_sent=self.bytes_sent - before.bytes_sent,
            bytes_received=self.bytes_received - before.bytes_received,
            messages_sent=self.messages_sent - before.messages_sent,
            messages_received=self.messages_received - before.messages_received,
        )

    def hide(self) -> None:
        """Mark all counts as unseen: the backend moves bytes by ways of its own."""
        self.bytes_sent = self.bytes_received = UNSEEN
        self.messages_sent = self.messages_received = UNSEEN

    def copy(self) -> "Counters":
        """Return the counts as they stand."""
        return replace(self)
