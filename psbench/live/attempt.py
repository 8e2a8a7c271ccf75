"""One attempt at one trial: its world, its calls, its evaluations, its summary."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ray

from psbench.errors import Mismatch, PeerTimeout, TrialTimeout
from psbench.live.cores import shares_of_cores
from psbench.live.job import DIVERGED, OK, Job, Report
from psbench.live.picks import picked
from psbench.live.placement import Member, Pool, check_colocated
from psbench.live.watch import gather, watch
from psbench.live.world import form_world, realised_transport
from psbench.network import Network
from psbench.results import EngineOutput, EvalRow, TrialRow, TrialStatus
from psbench.spec import Trial
from psbench.training import working_folder
from psbench.trial import Pick

_EVALUATE_SECONDS = 300.0


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
            | (_pushes(workers, servers) | _server_times(servers) if servers else {})
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
        "pushes_left": sum(report.pushes_left for report in servers),
    }


def _server_times(servers: list[Report]) -> dict[str, tuple[float, ...]]:
    times = [report.server_times for report in servers if report.server_times is not None]
    return {
        "server_receiving_s": tuple(own.of("receiving") for own in times),
        "server_applying_s": tuple(own.of("applying") for own in times),
        "server_sending_s": tuple(own.of("sending") for own in times),
    }
