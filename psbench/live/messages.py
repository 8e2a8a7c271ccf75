"""What workers and servers tell each other: a fixed int64 vector before, or instead of, a payload.

A worker opens with a Pull, in which both sides agree on generation, dtype and length; only then
does the server post buffers for its pushes. Every push is answered, once its server's rule allows.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch

from psbench.live.headers import Header


class Kind(IntEnum):
    """What a request asks."""

    PUSH = 0
    PULL = 1
    LEAVE = 2


class Request(NamedTuple):
    """A worker's word to a server; a PUSH is followed by the gradients of the shard."""

    generation: int
    seq: int
    dtype: int
    numel: int
    shard: int
    """of the server's, which one"""
    kind: int
    pulled_version: int

    @property
    def header(self) -> Header:
        """The part that both sides must agree on."""
        return Header.of([self.generation, self.seq, self.dtype, self.numel])


class Answer(NamedTuple):
    """A server's word to a worker, followed by the parameters of `version`.

    `seq` is the push it answers (-1 for a pull), `staleness` that push's, and `dropped` is 1 if it
    came too late. `turned_ns`, when the server turned to the worker's last request, and `taken_ns`,
    when it had its last push (0 where pushes wait for one another), are readings of
    CLOCK_MONOTONIC; `update_ns` is what the optimiser took, `updated_ns` when it was done, and
    `held_ns` how long the rule let the worker wait for others, from `taken_ns` on.
    """

    generation: int
    seq: int
    dtype: int
    numel: int
    shard: int
    end: int
    version: int
    staleness: int
    dropped: int
    turned_ns: int
    taken_ns: int
    held_ns: int
    update_ns: int
    updated_ns: int

    @property
    def header(self) -> Header:
        """The part that both sides must agree on."""
        return Header.of([self.generation, self.seq, self.dtype, self.numel])


Said = TypeVar("Said", Request, Answer)


class Words(Generic[Said]):
    """Room for one message of a kind; `tensor`, int64, is what a transport carries."""

    def __init__(self, kind: type[Said]) -> None:
        self._kind: Callable[..., Said] = kind
        self._numbers = np.zeros(len(kind._fields), dtype=np.int64)
        self.tensor = torch.from_numpy(self._numbers)
        self.address: int = self._numbers.ctypes.data
        self.nbytes = self._numbers.nbytes

    def put(self, message: Said) -> None:
        """Set the words to a message; not before what was sent of them has gone."""
        self._numbers[:] = message

    def get(self) -> Said:
        """Return the message that the words are."""
        return self._kind(*self._numbers.tolist())
