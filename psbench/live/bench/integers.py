"""Vectors whose sum over ranks is known exactly, whatever the order in which it is formed."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from psbench.errors import SpecError

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int32": torch.int32,
    "int64": torch.int64,
}
_SHORT = 64 * 1024  # bytes
_KEPT = 64 * 2**20  # bytes, of all vectors of a turn
_PART = 16 * 1024  # elements
_LARGEST = 2**20
"""More would tell no more."""


class KnownSums:
    """What each rank contributes to a call, `factor * base + offset`, and what all sum to.

    `base` is a vector of `numel` random integers, of which a shorter vector takes the first;
    `factor` and `offset` are random integers of the (call, rank). All are so small that every
    partial sum over `world` ranks is exact in `dtype`. No contribution is 0: one that is lost or
    counted twice shows, and so does one from another place or call. All ranks make the same numbers
    from the same seed.

    Raises SpecError where `dtype` has too few digits for so many ranks.
    """

    def __init__(self, numel: int, *, dtype: str, world: int, seed: int = 0) -> None:
        self._most = _most(DTYPES[dtype], world, dtype)
        self._world = world
        self._seed = seed
        generator = torch.Generator().manual_seed(seed)
        integers = torch.randint(1, self._most + 1, (numel,), generator=generator)
        self._base = integers.to(DTYPES[dtype])

    def fill(self, vector: Tensor, *, rank: int, call: int) -> None:
        """Set `vector`, 1-D, to what `rank` contributes to a call."""
        factors, offsets = self._numbers(call)
        for base, part in self._parts(vector):
            torch.mul(base, factors[rank], out=part)
            part.add_(offsets[rank])

    def count_wrong(self, vector: Tensor, *, call: int) -> int:
        """Return how many elements of `vector` are not the exact sum over all ranks."""
        factor, offset = map(sum, self._numbers(call))
        wrong = 0
        for base, part in self._parts(vector):
            expected = base * factor
            expected += offset
            wrong += len(part) - int(torch.eq(part, expected).sum())
        return wrong

    def _parts(self, vector: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the base beside a vector in short parts: longer ones would drive out of the caches
        what the calls have there."""
        base = self._base[: len(vector)]
        return zip(torch.split(base, _PART), torch.split(vector, _PART), strict=True)

    def _numbers(self, call: int) -> tuple[list[int], list[int]]:
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + call + 1)
        draws = torch.randint(1, self._most + 1, (2, self._world), generator=generator)
        factors, offsets = draws.tolist()
        return factors, offsets


class CheckedCalls:
    """A rank's contributions to `calls` calls, in the vector `given`, and their sums in `result`.

    Those of short vectors, unless there are very many, are made before the first call and checked
    after the last: between two calls nothing then happens but copies, and what a call needs stays
    in the caches, as it does in a loop that only calls.
    """

    def __init__(
        self, sums: KnownSums, *, given: Tensor, result: Tensor, rank: int, calls: int
    ) -> None:
        self._sums = sums
        self._given = given
        self._result = result
        self._rank = rank
        self._wrong = 0
        short = given.nbytes <= _SHORT and 2 * calls * given.nbytes <= _KEPT
        self._inputs = [self._input(number) for number in range(calls if short else 0)]
        self._results: list[Tensor] = [torch.empty_like(result) for _ in self._inputs]

    def _input(self, number: int) -> Tensor:
        vector = torch.empty_like(self._given)
        self._sums.fill(vector, rank=self._rank, call=number)
        return vector

    def give(self, number: int) -> None:
        """Set `given` to this rank's contribution to a call."""
        if self._inputs:
            self._given.copy_(self._inputs[number])
        else:
            self._sums.fill(self._given, rank=self._rank, call=number)

    def take(self, number: int) -> None:
        """Note, or check, what came of a call."""
        if self._results:
            self._results[number].copy_(self._result)
        else:
            self._wrong += self._sums.count_wrong(self._result, call=number)

    def wrong(self) -> int:
        """Return how many elements were wrong in all calls taken."""
        kept = (self._sums.count_wrong(r, call=number) for number, r in enumerate(self._results))
        return self._wrong + sum(kept)


def _most(dtype: torch.dtype, world: int, name: str) -> int:
    """Return m such that world * (m * m + m) is exact."""
    largest = 2 / torch.finfo(dtype).eps if dtype.is_floating_point else torch.iinfo(dtype).max
    each = int(min(largest, _LARGEST * world)) // world
    most = (math.isqrt(1 + 4 * each) - 1) // 2
    if most < 1:
        raise SpecError(f"--dtype {name} cannot hold the exact sum of {world} ranks; use float32")
    return most
