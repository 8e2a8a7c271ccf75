"""Vectors of a GPU on their way through transports that carry host memory.

Each has a stand-in in memory that the transport likes best. That memory is page-locked, so that the
GPU copies from and to it by itself, at the full speed of its bus.
"""

import torch
from torch import Tensor

from psbench.live.transports import NCCL, SHARED_MEMORY, Transport


class Carried:
    """A vector as a transport carries it: itself, or by way of a `host` vector of its shape and
    dtype.

    `take_out` brings the vector's values to where they are carried from, `bring_back` those that
    were carried to the vector. Both block until that is done.
    """

    def __init__(self, vector: Tensor, host: Tensor | None = None, *, locked: bool = False) -> None:
        """`locked` says that `host` was given to `lock`, and is to be unlocked on closing."""
        self._vector = vector
        self._host = host
        self._locked = locked
        self.vector = vector if host is None else host
        """what the transport is given"""

    def take_out(self) -> None:
        """Copy the vector to its stand-in."""
        if self._host is not None:
            self._copy(self._vector, self._host)

    def bring_back(self) -> None:
        """Copy the stand-in to the vector."""
        if self._host is not None:
            self._copy(self._host, self._vector)

    def close(self) -> None:
        """Give the stand-in's memory back as it was. Idempotent."""
        if self._locked:
            assert self._host is not None
            unlock(self._host)
            self._locked = False

    def _copy(self, source: Tensor, target: Tensor) -> None:
        target.copy_(source, non_blocking=True)
        if self._vector.is_cuda:
            torch.cuda.current_stream(self._vector.device).synchronize()


def carried_by(transport: Transport, vector: Tensor) -> Carried:
    """Return how `transport` carries a vector."""
    if not vector.is_cuda or transport.name == NCCL:
        return Carried(vector)
    host = transport.allocate(vector.numel(), dtype=vector.dtype)
    if not transport.name.startswith(SHARED_MEMORY):
        return Carried(vector, host.pin_memory())  # any memory is as good to it
    lock(host)
    return Carried(vector, host, locked=True)


def lock(vector: Tensor) -> None:
    """Page-lock the pages that a vector of host memory lies in, which it shares with no other."""
    if vector.nbytes:
        runtime = torch.cuda.cudart()  # type: ignore[no-untyped-call]
        torch.cuda.check_error(runtime.cudaHostRegister(vector.data_ptr(), vector.nbytes, 0))


def unlock(vector: Tensor) -> None:
    """Undo `lock`. Where that fails, CUDA has failed before and says so there."""
    if vector.nbytes:
        runtime = torch.cuda.cudart()  # type: ignore[no-untyped-call]
        runtime.cudaHostUnregister(vector.data_ptr())
