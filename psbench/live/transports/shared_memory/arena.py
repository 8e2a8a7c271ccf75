"""A process's own memory that its peers map: a file without a name, gone with the last of them."""

import mmap
import os
import weakref

import numpy as np
import torch
from torch import Tensor

_ALIGNMENT = 4096


def create(name: str) -> tuple[int, int]:
    """Return (fd, size) of new memory as large as the machine's; only what is used takes any."""
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fd = os.memfd_create(f"psbench {name}", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd, size


class Mapping:
    """Memory of this or another process, mapped for as long as anything refers to it."""

    def __init__(self, fd: int, size: int) -> None:
        # the mapping lives until the last array on it is gone: never unmapped under a tensor
        self.bytes = np.frombuffer(mmap.mmap(fd, size), dtype=np.uint8)
        self.address = self.bytes.ctypes.data

    def tensor(self, offset: int, numel: int, dtype: torch.dtype) -> Tensor:
        """Return `numel` elements from `offset` bytes on, as a tensor on this memory."""
        part = self.bytes[offset : offset + numel * dtype.itemsize]
        return torch.from_numpy(part).view(dtype)


class Arena:
    """Gives out vectors in a mapping of our own, from `start` on, and takes them back when they
    are garbage."""

    def __init__(self, mapping: Mapping, start: int) -> None:
        self._mapping = mapping
        self._size = len(mapping.bytes)
        self._used: dict[int, int] = {0: start}
        """the bytes in use, by where they start"""

    def zeros(self, numel: int, dtype: torch.dtype) -> Tensor:
        """Return a vector of zeros. Raises MemoryError where none of that length is left."""
        nbytes = numel * dtype.itemsize
        taken = max(nbytes, 1)  # a place of its own for an empty one too
        offset = self._room(taken)
        self._used[offset] = taken
        part = self._mapping.bytes[offset : offset + nbytes]
        part[:] = 0
        weakref.finalize(part, self._used.pop, offset).atexit = False
        return torch.from_numpy(part).view(dtype)

    def offset(self, vector: Tensor) -> int | None:
        """Return where a contiguous vector lies in this memory; None where it lies elsewhere."""
        offset = vector.data_ptr() - self._mapping.address
        return offset if 0 <= offset <= self._size - vector.nbytes else None

    def _room(self, nbytes: int) -> int:
        end = 0
        for offset in sorted(self._used):
            if offset - end >= nbytes:
                return end
            end = max(end, -(-(offset + self._used[offset]) // _ALIGNMENT) * _ALIGNMENT)
        if end + nbytes > self._size:
            raise MemoryError(f"no {nbytes} bytes are left of {self._size} of shared memory")
        return end
