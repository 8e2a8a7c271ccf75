"""A process's own memory that its peers map: a file without a name, gone with the last of them."""

import ctypes
import mmap
import os
import weakref

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_ALIGNMENT = 4096
_HUGE = 2 << 20
_PROT_NONE = 0
_MAP_FIXED = 0x10
_MADV_COLLAPSE = 25

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


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
    """Memory of this or another process, mapped for as long as anything refers to it.

    It begins where a huge page may. Raises OSError where there is no room for it.
    """

    def __init__(self, fd: int, size: int) -> None:
        self.address = _mapped(fd, size)
        memory = (ctypes.c_uint8 * size).from_address(self.address)
        # unmapped when the last array on it is gone: never under a tensor
        weakref.finalize(memory, _libc.munmap, self.address, size).atexit = False
        self.bytes: npt.NDArray[np.uint8] = np.ctypeslib.as_array(memory)

    def tensor(self, offset: int, numel: int, dtype: torch.dtype) -> Tensor:
        """Return `numel` elements from `offset` bytes on, as a tensor on this memory."""
        part = self.bytes[offset : offset + numel * dtype.itemsize]
        return torch.from_numpy(part).view(dtype)

    def make_huge(self, offset: int, nbytes: int) -> None:
        """Have whole huge pages in a range that is in use, where the kernel can: the rest of it,
        and all of it with a kernel before 6.1, stays as it is."""
        start = -(-offset // _HUGE) * _HUGE
        whole = (offset + nbytes - start) // _HUGE * _HUGE
        if whole > 0:
            _libc.madvise(self.address + start, whole, _MADV_COLLAPSE)


def _mapped(fd: int, size: int) -> int:
    """Map a file where a huge page may begin, and return the address."""
    reserved = _map(None, size + _HUGE, _PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
    address = -(-reserved // _HUGE) * _HUGE
    readable = mmap.PROT_READ | mmap.PROT_WRITE
    _map(address, size, readable, mmap.MAP_SHARED | _MAP_FIXED, fd)
    if address > reserved:
        _libc.munmap(reserved, address - reserved)
    _libc.munmap(address + size, reserved + _HUGE - address)
    return address


def _map(address: int | None, size: int, protection: int, flags: int, fd: int) -> int:
    mapped: int | None = _libc.mmap(address, size, protection, flags, fd, 0)
    if mapped is None or mapped == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map {size} bytes: {os.strerror(number)}")
    return mapped


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
        self._mapping.make_huge(offset, nbytes)
        weakref.finalize(part, self._used.pop, offset).atexit = False
        return torch.from_numpy(part).view(dtype)

    def offset(self, vector: Tensor) -> int | None:
        """Return where a contiguous vector lies in this memory; None where it lies elsewhere."""
        offset = vector.data_ptr() - self._mapping.address
        return offset if 0 <= offset <= self._size - vector.nbytes else None

    def _room(self, nbytes: int) -> int:
        alignment = _HUGE if nbytes >= _HUGE else _ALIGNMENT
        end = 0
        for offset in sorted(self._used):
            if offset - end >= nbytes:
                return end
            end = -(-(offset + self._used[offset]) // alignment) * alignment
        if end + nbytes > self._size:
            raise MemoryError(f"no {nbytes} bytes are left of {self._size} of shared memory")
        return end
