"""How fast this machine copies memory: the ceiling under which all moving of bytes stays."""

import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_CACHE = Path("/sys/devices/system/cpu/cpu0/cache")
_LEAST, _MOST = 64 * 2**20, 256 * 2**20  # bytes a copy
_CACHES = 4  # a copy is so many times the last-level cache: it goes through memory
_PASSES = 3
_ROUNDS = 2
_WAIT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class CopyLimit:
    """Bytes read and written a second by large copies or, where these are faster, sums in place.

    B/s: of one process, and of two at once, each on a core of its own (None where there is one).

    A copy that does not bypass the caches fetches what it overwrites, uncounted; all that a sum in
    place fetches is counted.
    """

    one: float
    two: float | None


def copy_limit(cores: Sequence[int] | None = None) -> CopyLimit:
    """Measure the best of a few rounds on `cores`, those of this process by default.

    Takes about a second and, meanwhile, a GiB of memory at most. It runs in threads: copying holds
    no lock of the interpreter.
    """
    own = sorted(os.sched_getaffinity(0)) if cores is None else list(cores)
    nbytes = min(max(_CACHES * _last_level_cache(), _LEAST), _MOST)
    two = _rate(own[:2], nbytes) if len(own) > 1 else None
    return CopyLimit(one=_rate(own[:1], nbytes), two=two)


def _rate(cores: Sequence[int], nbytes: int) -> float:
    together = threading.Barrier(len(cores), timeout=_WAIT_SECONDS)
    numel = nbytes // 4

    def move(core: int) -> list[tuple[float, float]]:
        """Return when each round began and ended: of copies, and of sums, in turn."""
        os.sched_setaffinity(0, {core})  # this thread alone
        source, target = np.ones(numel, dtype=np.float32), np.zeros(numel, dtype=np.float32)
        spans = []
        for number in range(2 * _ROUNDS):
            together.wait()
            began = time.perf_counter()
            for _ in range(_PASSES):
                if number % 2:
                    np.add(target, source, out=target)
                else:
                    np.copyto(target, source)
            spans.append((began, time.perf_counter()))
        return spans

    with ThreadPoolExecutor(len(cores)) as threads:
        rounds = list(zip(*threads.map(move, cores), strict=True))
    seconds = [max(end for _, end in own) - min(begin for begin, _ in own) for own in rounds]
    moved = 4 * numel * _PASSES * len(cores)
    return float(max(2 * moved / min(seconds[::2]), 3 * moved / min(seconds[1::2])))


def _last_level_cache() -> int:
    """Return the bytes of the largest cache of a core; 0 where the system does not say."""
    sizes = [0]
    for file in _CACHE.glob("index*/size"):
        number = file.read_text(encoding="ascii").strip()
        if number.endswith("K") and number[:-1].isdigit():
            sizes.append(int(number[:-1]) * 1024)
    return max(sizes)
