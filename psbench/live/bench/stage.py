"""Actors, and the worlds that they form one after another to be measured in."""

import secrets
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from psbench.errors import TransportError
from psbench.live.bench.calls import BenchJob, PointTimes
from psbench.live.bench.plan import Point
from psbench.live.host import Host
from psbench.live.placement import Member, Pool
from psbench.live.watch import gather, watch
from psbench.live.world import form_world, realised_transport
from psbench.spec import Cell

_DRAIN_SECONDS = 30.0

Stop = Callable[[], bool]
Cores = Callable[[Sequence[Host]], Sequence[tuple[int, ...]]]
"""Which cores each process is held to; none where they are empty."""
Measured = tuple[Point, npt.NDArray[np.float64], int]
"""A point, the seconds of its timed calls, and how many elements were wrong in all its calls."""


class Stage:
    """The actors of a pool; all that is done with them ends soon after `stop()` turns true."""

    def __init__(self, pool: Pool, *, loopback: bool, cores: Cores, stop: Stop) -> None:
        self._pool = pool
        self._loopback = loopback
        self._cores = cores
        self._generation = secrets.randbits(40)
        self.stop = stop

    def transport_of(self, cell: Cell) -> str:
        """Return what carries the bytes of a cell on these actors."""
        members = self._pool.take(workers=cell.workers, servers=cell.servers)
        return realised_transport(cell, [member.host for member in members])

    def form(self, transport: str, *, workers: int, servers: int = 0) -> list[Member]:
        """Return the members of a new world. Raises TransportError, naming who failed."""
        return self._form(transport, self._pool.take(workers=workers, servers=servers))

    def form_pair(self, transport: str, *, among: int) -> list[Member]:
        """Return the members of a new world of two of the first actors, on different hosts if any
        of them are: what lies between these costs most."""
        first, *others = self._pool.take(workers=among, servers=0)
        apart = (other for other in others if other.host.home != first.host.home)
        return self._form(transport, [first, next(apart, others[0])])

    def _form(self, transport: str, members: list[Member]) -> list[Member]:
        self._generation += 1
        form_world(
            members,
            transport=transport,
            loopback=self._loopback,
            cores=self._cores([member.host for member in members]),
            generation=self._generation,
            stop=self.stop,
        )
        return members

    def carry_out(
        self,
        transport: str,
        points: tuple[Point, ...],
        *,
        workers: int,
        served: bool = False,
        dtype: str = "float32",
    ) -> Iterator[Measured]:
        """Yield each point as it is finished; those that the transport cannot carry are left out.

        A call lasts as long as its slowest rank.
        """
        members = self.form(transport, workers=workers, servers=int(served))
        job = BenchJob(
            points=points,
            served=served,
            dtype=dtype,
            workers=workers,
            generation=self._generation,
        )
        told: dict[int, list[PointTimes]] = {}
        for times in self._times(job, members):
            ranks = told.setdefault(times.step, [])
            ranks.append(times)
            if len(ranks) == workers and times.seconds is not None:
                seconds = np.max([rank.seconds or () for rank in ranks], axis=0)
                yield points[times.step], seconds, sum(rank.wrong for rank in ranks)
        if len(told) < len(points) or any(len(ranks) < workers for ranks in told.values()):
            raise TransportError(
                "some of the ranks' timings did not arrive; the machine is too busy"
            )

    def _times(self, job: BenchJob, members: list[Member]) -> Iterator[PointTimes]:
        """Yield what each rank says of each point, soon after it has finished it."""
        calls = [member.actor.bench.remote(job) for member in members]
        for batch in watch(members, calls, self.stop):
            yield from batch
        rest = [member.actor.drain.remote() for member in members]
        for batch in gather(members, rest, seconds=_DRAIN_SECONDS, stop=self.stop):
            yield from batch
