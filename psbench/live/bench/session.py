"""`psbench bench` and `psbench calibrate` on Ray: one set of actors for all worlds of a command."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt

from psbench.live.auto import pick
from psbench.live.bench.calibration import SIZES, calibrate
from psbench.live.bench.plan import AUTO, NATIVE, BenchPlan, Point
from psbench.live.bench.stage import Measured, Stage, Stop
from psbench.live.cluster import cluster
from psbench.live.cores import in_turn
from psbench.live.placement import Layout, Pool
from psbench.live.transports import OBJECT_STORE, OWN_ALL_REDUCE, prepare
from psbench.live.watch import gather
from psbench.network import LinkFit, Network
from psbench.results import BenchRow, CopyLimit
from psbench.units import count

_COPY_SECONDS = 60.0

Say = Callable[[str], None]


class BenchSession:
    """`size` actors, in a Ray of their own or the one that is there, for these transports.

    A context manager. Raises PlacementError where the cluster cannot hold them.
    """

    def __init__(self, size: int, transports: Sequence[str], *, pin: bool, stop: Stop) -> None:
        self._size = size
        self._transports = transports
        self._pin = pin
        self._stop = stop
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        prepare(self._transports)
        with contextlib.ExitStack() as stack:
            joined = stack.enter_context(
                cluster(self._size, vectors=OBJECT_STORE in self._transports)
            )
            self._pool = Pool(Layout(cpus_each=1, strategy="PACK"), self._size)
            stack.callback(self._pool.close)
            self._stage = Stage(
                self._pool,
                loopback=joined.embedded,
                cores=in_turn if self._pin else lambda hosts: [() for _ in hosts],
                stop=self._stop,
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._pool.discard()  # they may wait for one that is gone
        self._stack.close()

    def bench(self, plan: BenchPlan, known: Network | None, say: Say) -> Iterator[BenchRow]:
        """Yield each point as it is finished; those that a transport cannot carry are left out.

        `auto` goes by the network `known`, or by one that is measured first. `say` is told, in a
        line, of each world that begins. Raises TransportError, naming the process, where one fails.
        """
        limit = self._copy_limit()
        for transport in plan.transports:
            network = known if known is not None and known.transport == transport else None
            if AUTO in plan.algorithms and network is None:
                if known is not None:
                    say(f"{transport}: the network file is of {known.transport}")
                say(f"{transport}: measuring the network, by which auto picks")
                longest = max(plan.sizes)
                around = [size for size in SIZES if size < 4 * longest] or SIZES[:1]
                network, _ = self.calibrate(transport, plan.workers, around, say)
            if NATIVE in plan.algorithms and transport not in OWN_ALL_REDUCE:
                say(f"{transport} has no all-reduce of its own: native is left out")
            for workers in plan.workers:
                say(f"{transport}, {count(workers, 'worker')}")
                for points, served in plan.worlds():
                    measured = self._stage.carry_out(
                        transport,
                        tuple(_resolved(point, network, workers) for point in points),
                        workers=workers,
                        served=served,
                        dtype=plan.dtype,
                    )
                    for point, seconds, wrong in _whole(measured):
                        yield _row(plan, point, transport, workers, seconds, wrong, limit)

    def calibrate(
        self, transport: str, worlds: Sequence[int], sizes: Sequence[int] | None, say: Say
    ) -> tuple[Network, LinkFit]:
        """Return the network of a transport, with timings in worlds of so many workers of vectors
        of `sizes`, and the fit of its link."""
        return calibrate(self._stage, transport, worlds, sizes or SIZES, say)

    def _copy_limit(self) -> CopyLimit:
        first = self._pool.take(workers=1, servers=0)
        asked = [first[0].actor.copy_limit.remote()]
        limit: CopyLimit
        (limit,) = gather(first, asked, seconds=_COPY_SECONDS, stop=self._stop)
        return limit


def _whole(turns: Iterable[Measured]) -> Iterator[Measured]:
    """Yield each point with all its turns, once the last is done."""
    earlier: dict[str, list[Measured]] = {}
    for turn in turns:
        point = turn[0]
        parts = [*earlier.pop(point.algorithm, []), turn]
        if point.turns_left:
            earlier[point.algorithm] = parts
        else:
            _, seconds, wrong = zip(*parts, strict=True)
            yield point, np.concatenate(seconds), sum(wrong)


def _resolved(point: Point, network: Network | None, workers: int) -> Point:
    if point.algorithm != AUTO:
        return point
    assert network is not None, "auto goes by a network"
    return replace(point, picked=pick(network, workers=workers, nbytes=point.nbytes))


def _row(
    plan: BenchPlan,
    point: Point,
    transport: str,
    workers: int,
    seconds: npt.NDArray[np.float64],
    wrong: int,
    limit: CopyLimit,
) -> BenchRow:
    low, median, high = np.quantile(seconds, (0.25, 0.5, 0.75)).tolist()
    algbw = point.nbytes / median
    return BenchRow(
        algorithm=point.algorithm,
        transport=transport,
        workers=workers,
        nbytes=point.nbytes,
        dtype=plan.dtype,
        calls=len(seconds),
        seconds=median,
        seconds_q1=low,
        seconds_q3=high,
        algbw=algbw,
        busbw=algbw * 2 * (workers - 1) / workers,
        wrong=wrong,
        pinned=plan.pin,
        picked=point.picked,
        copy_limit_1=limit.one,
        copy_limit_2=limit.two,
    )
