"""What goes before a payload, so that processes that disagree say so and nobody reads garbage.

Checked once per collective call and peer. The parameter server's own messages are in `messages`.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from psbench.errors import Mismatch
from psbench.live.transports import Channel

_DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
)


class Header(NamedTuple):
    """What a process is about to send, and what it believes the receiver expects."""

    generation: int
    step: int
    dtype: torch.dtype | int
    """a number where it is that of no dtype we know"""
    numel: int

    def check(self, ours: "Header", sender: str) -> None:
        """Raise Mismatch, naming the sender, where this header differs from ours."""
        if self == ours:
            return
        for name, theirs, expected in zip(self._fields, self, ours, strict=True):
            if theirs != expected:
                raise Mismatch(f"{sender} sends {name} {theirs} where {expected} is expected")

    def numbers(self) -> list[int]:
        """Return the header as integers."""
        return [self.generation, self.step, dtype_code(self.dtype), self.numel]

    def at(self, step: int) -> "Header":
        """Return the header of the same vector in another step."""
        return Header(self.generation, step, self.dtype, self.numel)

    @staticmethod
    def describing(vector: Tensor, *, generation: int, step: int) -> "Header":
        """Return the header of a message that carries `vector`."""
        return Header(generation=generation, step=step, dtype=vector.dtype, numel=vector.numel())

    @staticmethod
    def of(numbers: list[int]) -> "Header":
        """Return the header of four integers."""
        generation, step, code, numel = numbers
        dtype = _DTYPES[code] if 0 <= code < len(_DTYPES) else code
        return Header(generation=generation, step=step, dtype=dtype, numel=numel)


def dtype_code(dtype: torch.dtype | int) -> int:
    """Return the number that stands for a dtype on the wire; Mismatch for one we never send."""
    if isinstance(dtype, int) or dtype not in _DTYPES:
        raise Mismatch(f"tensors of {dtype} cannot be sent; known: {', '.join(map(str, _DTYPES))}")
    return _DTYPES.index(dtype)


def agree(
    channel: Channel, ours: Header, *, send_to: Iterable[int], receive_from: Iterable[int]
) -> None:
    """Tell the receivers of a collective what comes, and check what its senders say.

    Both are ranks. Raises Mismatch.
    """
    mine = torch.tensor(ours.numbers(), dtype=torch.int64)
    theirs = {peer: torch.empty_like(mine) for peer in receive_from}
    work = channel.exchange([(peer, mine) for peer in send_to], list(theirs.items()))
    work.synchronize()
    for peer, numbers in theirs.items():
        Header.of(numbers.tolist()).check(ours, f"rank {peer}")
