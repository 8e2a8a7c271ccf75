"""Memory that the processes of one host share: they read and write each other's vectors in place."""

from psbench.live.transports.shared_memory.endpoint import SharedMemoryEndpoint
from psbench.live.transports.shared_memory.transport import SharedMemoryTransport

__all__ = ["SharedMemoryEndpoint", "SharedMemoryTransport"]
