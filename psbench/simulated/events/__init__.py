"""What happens when, one event after the other: a queue, and the messages between two nodes."""

from psbench.simulated.events.queue import EventQueue
from psbench.simulated.events.wire import Message, Wire, wire_over

__all__ = ["EventQueue", "Message", "Wire", "wire_over"]
