"""Memory that the processes of one host share, so that they use each other's vectors in place."""

from psbench.live.transports.shared_memory.endpoint import SharedMemoryEndpoint
from psbench.live.transports.shared_memory.transport import SharedMemoryTransport

__all__ = ["SharedMemoryEndpoint", "SharedMemoryTransport"]
