"""What workers have pushed to a server and it has not settled yet."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from psbench.live.letters import Letters
from psbench.live.transports import Work
from psbench.parameter_server import Contribution

Key = tuple[int, int]
"""A worker, and the seq of its push."""


class Inbox(Protocol):
    """Pushes by worker and seq; all their vectors are of one shape and dtype."""

    def expect(self, worker: int) -> None:
        """Be ready for a worker's next push, before it learns that it may send it."""

    def take(self, worker: int, seq: int) -> None:
        """Wait until a worker's push is all there."""

    def contributions(
        self, pushes: Sequence[Contribution], into: Tensor | None
    ) -> Sequence[Tensor]:
        """Return the vectors of some pushes, or their sum in that order, in `into` where that is
        given; to be used up at once."""

    def settled(self, pushes: Iterable[Contribution]) -> None:
        """Take note that these pushes are no longer needed."""


class Buffers:
    """Buffers into which pushes are received: one a worker, and more where workers are answered
    before what they pushed is settled."""

    def __init__(self, letters: Letters, like: Tensor) -> None:
        self._letters = letters
        self._spare = Spare(like)
        self._arriving: dict[int, tuple[Work, Tensor]] = {}
        self._here: dict[Key, Tensor] = {}

    def expect(self, worker: int) -> None:
        if worker not in self._arriving:
            buffer = self._spare.take()
            self._arriving[worker] = (self._letters.expect(worker, buffer), buffer)

    def take(self, worker: int, seq: int) -> None:
        work, buffer = self._arriving.pop(worker)
        work.synchronize()
        self._here[worker, seq] = buffer

    def contributions(
        self, pushes: Sequence[Contribution], into: Tensor | None
    ) -> Sequence[Tensor]:
        return [self._here[push.worker, push.seq] for push in pushes]

    def settled(self, pushes: Iterable[Contribution]) -> None:
        for push in pushes:
            self._spare.give_back(self._here.pop((push.worker, push.seq)))


class Loans:
    """Pushes that stay where the workers have them, and are summed from there in one pass.

    What is not settled when its worker is answered is copied: the worker will write there again.
    """

    def __init__(self, letters: Letters, like: Tensor) -> None:
        from psbench.live.sums import sum_into  # imports numba

        self._sum_into: Callable[[Tensor, Sequence[Tensor]], None] = sum_into
        self._letters = letters
        self._like = like
        self._spare = Spare(like)
        self._total: Tensor | None = None
        self._lent: dict[Key, Tensor] = {}
        self._copied: dict[Key, Tensor] = {}

    def expect(self, worker: int) -> None:
        for key in [key for key in self._lent if key[0] == worker]:
            copy = self._copied[key] = self._spare.take()
            copy.copy_(self._lent.pop(key))
            self._letters.give_back(worker)

    def take(self, worker: int, seq: int) -> None:
        self._lent[worker, seq] = self._letters.borrow(worker, self._like)

    def contributions(
        self, pushes: Sequence[Contribution], into: Tensor | None
    ) -> Sequence[Tensor]:
        parts = [self._vector((push.worker, push.seq)) for push in pushes]
        if len(parts) == 1:
            return parts
        if into is None:
            if self._total is None:
                self._total = torch.empty_like(self._like)
            into = self._total
        self._sum_into(into, parts)
        return [into]

    def settled(self, pushes: Iterable[Contribution]) -> None:
        for push in pushes:
            key = (push.worker, push.seq)
            if key in self._copied:
                self._spare.give_back(self._copied.pop(key))
            else:
                del self._lent[key]
                self._letters.give_back(push.worker)

    def _vector(self, key: Key) -> Tensor:
        return self._lent[key] if key in self._lent else self._copied[key]


class Spare:
    """Vectors like one, made when there is none to be used again."""

    def __init__(self, like: Tensor) -> None:
        self._like = like
        self._free: list[Tensor] = []

    def take(self) -> Tensor:
        """Return a vector whose values are undefined."""
        return self._free.pop() if self._free else torch.empty_like(self._like)

    def give_back(self, vector: Tensor) -> None:
        """Let a vector be taken again."""
        self._free.append(vector)
