"""The live engine: runs trials on Ray actors that move real bytes."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import ray

from psbench.errors import Mismatch, PeerTimeout, PsbenchError, TrialTimeout
from psbench.live.auto import network_file, network_from
from psbench.live.bench.stage import Stage
from psbench.live.cluster import cluster
from psbench.live.cores import in_turn, share_out
from psbench.live.host import Host
from psbench.live.job import DIVERGED, OK, Job, Pick, Report
from psbench.live.picks import measure_networks, picked
from psbench.live.placement import Layout, Member, Pool, check_colocated
from psbench.live.shard import check_shards
from psbench.live.transports import OBJECT_STORE, prepare
from psbench.live.watch import gather, watch
from psbench.live.world import form_world, realised_transport
from psbench.network import Network
from psbench.results import NOT_PINNED, EngineOutput, EvalRow, TrialRow, TrialStatus, crowded
from psbench.spec import Cell, NetworkFile, Trial, needs_own_all_reduce
from psbench.training import check_tasks, working_folder

_EVALUATE_SECONDS = 300.0


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


class Attempt:
    """One attempt at one trial."""

    def __init__(
        self,
        pool: Callable[[], Pool],
        trial: Trial,
        *,
        cell_id: str,
        attempt: int,
        loopback: bool,
        networks: Mapping[str, Network],
    ) -> None:
        self._pool = pool
        self._trial = trial
        self._identity: dict[str, Any] = {
            "cell_id": cell_id,
            "repeat": trial.repeat,
            "attempt": attempt,
        }
        self._loopback = loopback
        self._networks = networks
        self._transport: str = trial.cell.transport
        self._pick = Pick()
        self._members: list[Member] = []
        self._cores: list[tuple[int, ...]] = []

    def run(self, generation: int, stop: Callable[[], bool]) -> Iterator[EngineOutput]:
        """Form the world, run the trial in it, evaluate, sum up."""
        cell = self._trial.cell
        self._members = self._pool().take(workers=cell.workers, servers=cell.servers)
        check_colocated(cell, self._members)
        hosts = [member.host for member in self._members]
        self._cores = shares_of_cores(cell, hosts)
        self._transport = realised_transport(cell, hosts)
        self._pick = picked(cell, self._transport, self._networks)
        form_world(
            self._members,
            transport=self._transport,
            loopback=self._loopback,
            cores=self._cores,
            generation=generation,
            stop=stop,
        )
        job = Job(
            trial=self._trial,
            generation=generation,
            folder=working_folder(),
            pick=self._pick,
        )
        workers, servers = self._members[: cell.workers], self._members[cell.workers :]
        calls = [member.actor.train.remote(job) for member in workers]
        calls += [member.actor.serve.remote(job) for member in servers]
        yield from watch(self._members, calls, stop, seconds=cell.timeout)
        reports = ray.get(calls)
        self._check_samples(reports)
        yield from self._evaluations(stop)
        yield self._summary(reports)

    def failure(self, error: BaseException) -> TrialRow:
        """Return the summary of a trial that could not be finished."""
        timed_out = isinstance(error, PeerTimeout | TrialTimeout)
        row = self._row(status="timed_out" if timed_out else "failed")
        return TrialRow(**(row | {"error": " ".join(str(error).split())}))

    def _check_samples(self, reports: list[Report]) -> None:
        """Raise Mismatch where processes read different data, as hosts of unlike software may."""
        first = self._members[0]
        for member, report in zip(self._members, reports, strict=True):
            if report.digest != reports[0].digest:
                raise Mismatch(
                    f"{member} trains on other data than {first}: install the same Python and "
                    f"psbench, and the same task.data, on all hosts"
                )

    def _evaluations(self, stop: Callable[[], bool]) -> Iterator[EvalRow]:
        """Evaluate where the parameters were kept: on the first rank, or on the last server, which
        is given the parts of the others, those of one step after another."""
        *others, keeper = self._members[self._trial.cell.workers :] or self._members[:1]

        def ask(call: Any) -> Any:
            (answer,) = gather([keeper], [call], seconds=_EVALUATE_SECONDS, stop=stop)
            return answer

        for step in ask(keeper.actor.evaluated_steps.remote()):
            parts = [other.actor.part.remote(step) for other in others]
            row = ask(keeper.actor.evaluate.remote(step, *parts))
            yield EvalRow(
                **self._identity,
                step=row.step,
                samples=row.samples,
                seconds=row.seconds,
                loss=row.loss,
                accuracy=row.accuracy,
            )

    def _summary(self, reports: list[Report]) -> TrialRow:
        workers = reports[: self._trial.cell.workers]
        servers = reports[self._trial.cell.workers :]
        # where servers keep the parameters, the one that has the loss also keeps the time
        timed = servers[-1:] or workers
        diverged = any(report.status == DIVERGED for report in reports)
        row = self._row(status=DIVERGED if diverged else OK)
        counted = [report.counters for report in reports]
        return TrialRow(
            **row
            | {
                "steps": min(report.steps for report in timed),
                "samples": sum(report.samples for report in timed),
                "seconds": max(report.seconds for report in timed),
                "bytes_sent": tuple(c.bytes_sent for c in counted),
                "bytes_received": tuple(c.bytes_received for c in counted),
                "messages_sent": tuple(c.messages_sent for c in counted),
                "messages_received": tuple(c.messages_received for c in counted),
                "peak_memory_bytes": tuple(report.peak_memory_bytes for report in reports),
            }
            | (_pushes(workers, servers) if servers else {})
        )

    def _row(self, *, status: TrialStatus) -> dict[str, Any]:
        hosts = [member.host for member in self._members]
        nothing: dict[str, Any] = dict.fromkeys(
            ("bytes_sent", "bytes_received", "messages_sent", "messages_received"), ()
        )
        return (
            self._identity
            | nothing
            | {
                "status": status,
                "error": None,
                "transport": self._transport,
                "steps": 0,
                "samples": 0,
                "seconds": 0.0,
                "pushes_sent": None,
                "pushes_acknowledged": None,
                "pushes_applied": None,
                "node_hosts": tuple(host.name for host in hosts),
                "one_clock": len({host.boot for host in hosts}) <= 1,
                "threads": self._trial.cell.cpus_per_process,
                "device": self._trial.cell.worker_device,
                "algorithm": self._pick.algorithm,
                "chunks": self._pick.chunks,
                "pinned_cores": tuple(",".join(map(str, cores)) for cores in self._cores),
            }
        )


def _pushes(workers: list[Report], servers: list[Report]) -> dict[str, int]:
    return {
        "pushes_sent": sum(report.pushes_sent or 0 for report in workers),
        "pushes_acknowledged": sum(report.pushes or 0 for report in workers),
        "pushes_applied": sum(report.pushes or 0 for report in servers),
        "pushes_dropped": sum(report.pushes_dropped for report in servers),
    }


def shares_of_cores(cell: Cell, hosts: Sequence[Host]) -> list[tuple[int, ...]]:
    """Return the cores that each process of a cell is held to; none where it is not."""
    if not cell.pin:
        return [() for _ in hosts]
    pinned = in_turn if cell.pin == "in_turn" else share_out
    return pinned(hosts, cores_each=cell.cpus_per_process)
