"""The live engine: runs trials on Ray actors that move real bytes."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self

import ray

from psbench.errors import PsbenchError
from psbench.live.attempt import Attempt
from psbench.live.auto import network_file, network_from
from psbench.live.bench.stage import Stage
from psbench.live.cluster import cluster
from psbench.live.cores import shares_of_cores
from psbench.live.picks import measure_networks
from psbench.live.placement import Layout, Pool
from psbench.live.shard import check_shards
from psbench.live.transports import OBJECT_STORE, prepare
from psbench.results import NOT_PINNED, EngineOutput, crowded
from psbench.spec import Asked, Cell, NetworkFile, Trial, needs_own_all_reduce
from psbench.training import check_tasks


class LiveEngine:
    """Runs the trials of `cells`; a context manager that owns the actors and, if embedded, Ray.

    Raises SpecError on entering where a user's own task is wrong, and PlacementError where the
    cluster cannot hold the largest cell.
    """

    def __init__(
        self, cells: Sequence[Cell], networks: Mapping[str, NetworkFile] | None = None
    ) -> None:
        """`networks` are those that the run measured when it began, by transport."""
        self._cells = cells
        self._networks = {name: network_from(file) for name, file in (networks or {}).items()}
        self._largest = max(cells, key=lambda cell: cell.cpus)
        self._sizes: dict[Layout, int] = {}
        for cell in cells:
            layout = Layout.of(cell)
            self._sizes[layout] = max(cell.processes, self._sizes.get(layout, 0))
        self.threads = max(cell.cpus_per_process for cell in cells)
        self._pinning = any(cell.pin for cell in cells)
        self._generation = secrets.randbits(40)
        self._stack = contextlib.ExitStack()
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        check_tasks(self._cells)
        check_shards(self._cells)
        prepare(cell.transport for cell in self._cells if not needs_own_all_reduce(cell.strategy))
        vectors = any(cell.transport == OBJECT_STORE for cell in self._cells)
        with contextlib.ExitStack() as stack:
            gpus = max(cell.gpus for cell in self._cells)
            self.cluster = stack.enter_context(cluster(self._largest.cpus, gpus, vectors=vectors))
            stack.callback(self._close_pool)
            self._pool_for(self._largest)
            self._networks = measure_networks(self._cells, self._networks, self._stage_for)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def clock_uncertainty_s(self) -> float | None:
        return 0.0 if self.cluster.num_hosts == 1 else None

    @property
    def networks(self) -> dict[str, NetworkFile]:
        return {name: network_file(network) for name, network in self._networks.items()}

    @property
    def warnings(self) -> list[str]:
        cores = len(os.sched_getaffinity(0))
        too_few = self.cluster.embedded and self._largest.cpus > cores
        warnings = []
        if too_few:
            warnings.append(crowded(self._largest.processes, cores, threads=self.threads))
        everywhere = all(cell.pin == "in_turn" for cell in self._cells)
        if not everywhere and (too_few or not self._pinning):
            warnings.append(NOT_PINNED)
        return warnings

    def expect(self, asked: Sequence[Asked]) -> None:
        """Trials are run one after the other, each when its time has come."""

    def run(
        self, trial: Trial, *, cell_id: str, attempt: int, stop: Callable[[], bool]
    ) -> Iterator[EngineOutput]:
        """Yield a trial's steps as they finish, then its evaluations, then its one summary.

        A trial that fails ends in a summary that says why. Raises KeyboardInterrupt, soon after
        `stop()` turns true, with the finished steps yielded before.
        """
        attempted = Attempt(
            lambda: self._pool_for(trial.cell),
            trial,
            cell_id=cell_id,
            attempt=attempt,
            loopback=self.cluster.embedded,
            networks=self._networks,
        )
        self._generation += 1
        try:
            yield from attempted.run(self._generation, stop)
        except (PsbenchError, ray.exceptions.RayError) as error:
            self._discard()
            if stop():
                raise KeyboardInterrupt from error
            yield attempted.failure(error)
        except BaseException:
            self._discard()
            raise

    def _pool_for(self, cell: Cell) -> Pool:
        """Return actors in the layout of a cell; those of another layout make room first."""
        layout = Layout.of(cell)
        if self._pool is None or self._pool.layout != layout:
            self._close_pool()
            self._pool = Pool(layout, self._sizes[layout])
        return self._pool

    def _stage_for(self, cell: Cell) -> Stage:
        """Return the actors of a cell, to be measured before any trial: Ctrl-C strikes at once."""
        return Stage(
            self._pool_for(cell),
            loopback=self.cluster.embedded,
            cores=lambda hosts: shares_of_cores(cell, hosts),
            stop=lambda: False,
        )

    def _discard(self) -> None:
        if self._pool is not None:
            self._pool.discard()

    def _close_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._pool = None
