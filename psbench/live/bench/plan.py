"""What `psbench bench` is to measure, checked before anything starts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from psbench.errors import SpecError
from psbench.live.auto import ON_ONE_HOST
from psbench.live.bench.integers import DTYPES
from psbench.live.transports import (
    NCCL,
    OF_HOST_MEMORY,
    OWN_ALL_REDUCE,
    SHARED_MEMORY,
)
from psbench.schedules import ALGORITHMS
from psbench.spec import DTYPES as TRAINED

NATIVE, PUSH_PULL, AUTO = "native", "push_pull", "auto"
"""Beside the names of our schedules: the transport's own all-reduce, where it has one, a round in
which all workers push to one server and pull the sum, and the schedule predicted to be fastest."""

WARM_UP = 4
"""Calls before the first timed ones of a point: they open connections, touch memory, fill caches,
and are checked alike."""
_WARM_AGAIN = 1
_TURNS = 4
_FEWER_FROM = 16 * 2**20  # bytes
_FEWEST = 5
_MOST_WORKERS = 1024


@dataclass(frozen=True, kw_only=True)
class Point:
    """An algorithm at one size: `calls` timed calls on a vector of `nbytes`, after some to warm up.

    Where algorithms are compared they take turns, a few calls each: what slows the machine down for
    a while then meets all of them. `turns_left` counts those that are still to come.
    """

    algorithm: str
    nbytes: int
    calls: int
    warm_up: int = WARM_UP
    turns_left: int = 0
    picked: str | None = None
    """what `auto` stands for here"""


@dataclass(frozen=True, kw_only=True)
class BenchPlan:
    """All points: every algorithm at every size, over every transport, for every world.

    Raises SpecError, naming the option, for what is not known or not possible.
    """

    algorithms: tuple[str, ...] = (*ON_ONE_HOST, NATIVE)
    transports: tuple[str, ...] = ("gloo", SHARED_MEMORY)
    """object_store, which takes several times as long as gloo, is measured where it is named"""
    workers: tuple[int, ...] = (2, 4)
    sizes: tuple[int, ...] = tuple(1024 * 4**power for power in range(8))
    """bytes; each is rounded down to whole elements"""
    dtype: str = "float32"
    calls: int = 20
    pin: bool = True

    def __post_init__(self) -> None:
        _check_names("--algorithms", self.algorithms, (*ALGORITHMS, NATIVE, PUSH_PULL, AUTO))
        check_transports("--transports", self.transports)
        _check_names("--dtype", (self.dtype,), DTYPES)
        check_workers(self.workers)
        if self.algorithms == (NATIVE,) and not set(self.transports) & set(OWN_ALL_REDUCE):
            names = " and ".join(self.transports)
            raise SpecError(f"--algorithms native: {names} has no all-reduce of its own; gloo has")
        if self.calls < 1:
            raise SpecError(f"--calls {self.calls}: at least 1 call is needed")
        if PUSH_PULL in self.algorithms and self.dtype not in TRAINED:
            raise SpecError(f"--dtype {self.dtype}: push_pull knows {', '.join(TRAINED)}")

    @property
    def processes(self) -> int:
        """Those of the largest world."""
        most = max(self.workers) + (PUSH_PULL in self.algorithms)
        return max(2, most) if AUTO in self.algorithms else most

    def worlds(self) -> Iterator[tuple[tuple[Point, ...], bool]]:
        """Yield what is measured in one world each, small sizes first, and whether by a server."""
        collectives = [name for name in self.algorithms if name != PUSH_PULL]
        if collectives:
            yield tuple(self._in_turns(collectives)), False
        if PUSH_PULL in self.algorithms:
            for size in self._whole_sizes():
                calls = self._calls_of(size)
                yield (Point(algorithm=PUSH_PULL, nbytes=size, calls=calls),), True

    def _in_turns(self, algorithms: list[str]) -> Iterator[Point]:
        for size in self._whole_sizes():
            calls = self._calls_of(size)
            turns = min(calls, _TURNS) if len(algorithms) > 1 else 1
            for turn in range(turns):
                for name in algorithms:
                    yield Point(
                        algorithm=name,
                        nbytes=size,
                        calls=calls // turns + (turn < calls % turns),
                        warm_up=_WARM_AGAIN if turn else WARM_UP,
                        turns_left=turns - 1 - turn,
                    )

    def _whole_sizes(self) -> list[int]:
        item = DTYPES[self.dtype].itemsize
        return sorted({size - size % item for size in self.sizes})

    def _calls_of(self, nbytes: int) -> int:
        few = max(_FEWEST, self.calls // 4)
        return min(self.calls, few) if nbytes >= _FEWER_FROM else self.calls


def check_transports(option: str, names: Sequence[str]) -> None:
    """Raise SpecError, naming the `option`, for a transport that carries no host memory."""
    if NCCL in names:
        raise SpecError(
            f"{option} nccl: what is timed is host memory, which nccl does not carry; known: "
            f"{', '.join(OF_HOST_MEMORY)}"
        )
    _check_names(option, names, OF_HOST_MEMORY)


def check_workers(numbers: Iterable[int]) -> None:
    """Raise SpecError for a number of `--workers` that no bench can have."""
    for number in numbers:
        if not 1 <= number <= _MOST_WORKERS:
            raise SpecError(f"--workers {number}: from 1 to {_MOST_WORKERS} are possible")


def _check_names(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise SpecError(f"{option}: unknown {name!r}; known: {', '.join(known)}{hint}")
