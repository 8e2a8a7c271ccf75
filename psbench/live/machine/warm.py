"""Compile once for all: the first process on a host does, the others find it in numba's cache."""

import contextlib
import fcntl
import sys

from psbench.live.machine import loop, mail, waiting


def warm() -> None:
    """Have everything compiled before it is timed. Takes seconds the first time on a host, and
    then a fraction of one; processes that come at the same time wait for the first."""
    with open(__file__, "rb") as ourselves:
        with contextlib.suppress(OSError):  # some network file systems know no such lock
            fcntl.flock(ourselves, fcntl.LOCK_EX)
        _compile()


def _compile() -> None:
    assert sys.byteorder == "little", "words of struct pollfd are taken apart as such"
    word, words = "int64", "int64[::1]"
    for function, signature in (
        (loop.run, (word,)),
        (loop.combine, (word,) * 5),
        (waiting.wait, (word,) * 4),
        (waiting.wait_for_any, (word, word, words, word)),
        (waiting.barrier, (word,) * 2),
        (waiting.post, (word,) * 3),
        (waiting.give_up, (word,) * 3),
        (mail.send, (word,) * 4),
        (mail.take, (word,) * 3),
        (mail.send_letter, (word,) * 5),
        (mail.find_letter, (word,) * 3),
        (mail.take_found, (word,) * 3),
        (mail.done_with, (word,)),
        (mail.await_taken, (word,) * 2),
    ):
        if not function.signatures:
            function.compile(f"({', '.join(signature)},)")
