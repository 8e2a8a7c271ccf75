"""Compile once for all: the first process on a host does, the others find it in numba's cache."""

import fcntl

import numpy as np

from psbench.live.machine import loop, waiting


def warm() -> None:
    """Have everything compiled before it is timed. Takes seconds the first time on a host, and
    then a fraction of one; processes that come at the same time wait for the first."""
    with open(__file__, "rb") as ourselves:
        fcntl.flock(ourselves, fcntl.LOCK_EX)
        _compile()


def _compile() -> None:
    word, words = "int64", "int64[::1]"
    for function, signature in (
        (loop.run, (word,) * 3),
        (waiting.wait, (word,) * 4),
        (waiting.wait_for_any, (word, words, words, word)),
        (waiting.barrier, (word,) * 2),
        (waiting.post, (word,) * 3),
        (waiting.wake, (word,)),
    ):
        if not function.signatures:
            function.compile(f"({', '.join(signature)},)")
    assert np.little_endian, "struct pollfd is taken apart as on little-endian processors"
