"""`psbench bench` on Ray: one set of actors, and a world of them for each number of workers."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Self

import numpy as np

from psbench.live.bench.calls import BenchJob, PointTimes
from psbench.live.bench.plan import BenchPlan, Point
from psbench.live.cluster import cluster
from psbench.live.cores import one_in_turn
from psbench.live.placement import Layout, Member, Pool
from psbench.live.transports import SHARED_MEMORY
from psbench.live.watch import gather, watch
from psbench.live.world import form_world
from psbench.results import BenchRow, CopyLimit
from psbench.units import count

_COPY_SECONDS = 60.0
_DRAIN_SECONDS = 30.0


class BenchSession:
    """The actors of a plan, in the middle of a Ray of their own or of the one that is there.

    A context manager. Raises PlacementError where the cluster cannot hold the largest world.
    """

    def __init__(self, plan: BenchPlan) -> None:
        self._plan = plan
        self._generation = secrets.randbits(40)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        size = self._plan.processes
        if SHARED_MEMORY in self._plan.transports:
            from psbench.live.machine import warm  # imports numba

            warm()  # compiled once, before the actors need it
        with contextlib.ExitStack() as stack:
            self._cluster = stack.enter_context(cluster(size))
            self._pool = Pool(Layout(cpus_each=1, strategy="PACK"), size)
            stack.callback(self._pool.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, stop: Callable[[], bool], say: Callable[[str], None]) -> Iterator[BenchRow]:
        """Yield each point as it is finished; those that a transport cannot carry are left out.

        `say` is told, in a line, of each world that begins.
        Raises TransportError, naming the process, where one fails, and KeyboardInterrupt once
        `stop()` says so.
        """
        try:
            first = self._pool.take(workers=1, servers=0)
            asked = [first[0].actor.copy_limit.remote()]
            (limit,) = gather(first, asked, seconds=_COPY_SECONDS, stop=stop)
            for transport in self._plan.transports:
                for workers in self._plan.workers:
                    say(f"{transport}, {count(workers, 'worker')}")
                    for points, served in self._plan.worlds():
                        self._generation += 1
                        job = BenchJob(
                            points=points,
                            served=served,
                            dtype=self._plan.dtype,
                            workers=workers,
                            generation=self._generation,
                        )
                        yield from self._rows(job, transport, limit, stop)
        except BaseException:
            self._pool.discard()  # they may wait for one that is gone
            raise

    def _rows(
        self, job: BenchJob, transport: str, limit: CopyLimit, stop: Callable[[], bool]
    ) -> Iterator[BenchRow]:
        members = self._pool.take(workers=job.workers, servers=int(job.served))
        hosts = [member.host for member in members]
        form_world(
            members,
            transport=transport,
            loopback=self._cluster.embedded,
            cores=one_in_turn(hosts) if self._plan.pin else [() for _ in hosts],
            generation=job.generation,
            stop=stop,
        )
        told: dict[int, list[PointTimes]] = {}
        for times in _carry_out(job, members, stop):
            ranks = told.setdefault(times.step, [])
            ranks.append(times)
            if len(ranks) == job.workers and times.seconds is not None:
                yield _row(self._plan, job.points[times.step], transport, ranks, limit)


def _carry_out(
    job: BenchJob, members: list[Member], stop: Callable[[], bool]
) -> Iterator[PointTimes]:
    """Yield what each rank says of each point, soon after it has finished it."""
    calls = [member.actor.bench.remote(job) for member in members]
    for batch in watch(members, calls, stop):
        yield from batch
    rest = [member.actor.drain.remote() for member in members]
    for batch in gather(members, rest, seconds=_DRAIN_SECONDS, stop=stop):
        yield from batch


def _row(
    plan: BenchPlan, point: Point, transport: str, ranks: Sequence[PointTimes], limit: CopyLimit
) -> BenchRow:
    # a call lasts as long as its slowest rank
    seconds = np.max([times.seconds or () for times in ranks], axis=0)
    low, median, high = np.quantile(seconds, (0.25, 0.5, 0.75)).tolist()
    workers = len(ranks)
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
        wrong=sum(times.wrong for times in ranks),
        pinned=plan.pin,
        copy_limit_1=limit.one,
        copy_limit_2=limit.two,
    )
