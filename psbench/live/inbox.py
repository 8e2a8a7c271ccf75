"""What workers have pushed to a server and it has not applied yet."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from psbench.live.letters import Letters
from psbench.live.transports import Work


class Inbox(Protocol):
    """At most one push of each worker. All its vectors are of one shape and dtype."""

    def expect(self, worker: int) -> None:
        """Be ready for a worker's next push, before it learns that it may send it."""

    def take(self, worker: int) -> None:
        """Wait until a worker's push is all there."""

    def contributions(self, workers: Sequence[int], into: Tensor | None) -> list[Tensor]:
        """Return the pushes of some workers, or their sum in that order, in `into` where that is
        given; to be used up at once."""

    def applied(self, workers: Sequence[int]) -> None:
        """Take note that these pushes are no longer needed."""


class Buffers:
    """A buffer for each worker, into which its pushes are received."""

    def __init__(self, letters: Letters, workers: int, like: Tensor) -> None:
        self._letters = letters
        self._buffers = {worker: torch.empty_like(like) for worker in range(workers)}
        self._arriving: dict[int, Work] = {}

    def expect(self, worker: int) -> None:
        if worker not in self._arriving:
            self._arriving[worker] = self._letters.expect(worker, self._buffers[worker])

    def take(self, worker: int) -> None:
        self._arriving.pop(worker).synchronize()

    def contributions(self, workers: Sequence[int], into: Tensor | None) -> list[Tensor]:
        return [self._buffers[worker] for worker in workers]

    def applied(self, workers: Sequence[int]) -> None:
        return None


class Loans:
    """Pushes that stay where the workers have them, and are summed from there in one pass."""

    def __init__(self, letters: Letters, like: Tensor) -> None:
        from psbench.live.sums import sum_into  # imports numba

        self._sum_into: Callable[[Tensor, Sequence[Tensor]], None] = sum_into
        self._letters = letters
        self._like = like
        self._total: Tensor | None = None
        self._lent: dict[int, Tensor] = {}

    def expect(self, worker: int) -> None:
        return None

    def take(self, worker: int) -> None:
        self._lent[worker] = self._letters.borrow(worker, self._like)

    def contributions(self, workers: Sequence[int], into: Tensor | None) -> list[Tensor]:
        parts = [self._lent[worker] for worker in workers]
        if len(parts) == 1:
            return parts
        if into is None:
            if self._total is None:
                self._total = torch.empty_like(self._like)
            into = self._total
        self._sum_into(into, parts)
        return [into]

    def applied(self, workers: Sequence[int]) -> None:
        for worker in workers:
            del self._lent[worker]
            self._letters.give_back(worker)
