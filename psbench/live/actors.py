"""The Ray actor: a thin shell around a worker or a server of one trial at a time.

It runs a whole trial in one call on its main thread. The `control` concurrency group answers
meanwhile: that is how the engine sees that a process lives, and fetches its finished steps. The
group `mail` takes in what other processes send by way of Ray's object store.
"""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
import torch

from psbench.live.bare import BareWorker
from psbench.live.bench.calls import BenchJob
from psbench.live.bench.collectives import bench_collectives
from psbench.live.bench.probes import probe_link
from psbench.live.bench.push_pull import bench_push_pull
from psbench.live.code import Code, this_code
from psbench.live.cores import hold_to
from psbench.live.host import Host, this_host
from psbench.live.job import Job, Report, StepLog
from psbench.live.memory import peak_memory_bytes, reset_peak_memory
from psbench.live.server import Server
from psbench.live.transports import Endpoint, Transport, open_endpoint
from psbench.live.transports.object_store import deliver
from psbench.live.worker import Worker
from psbench.network import Observation
from psbench.results import CopyLimit, copy_limit
from psbench.spec import Bare


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The outcome of evaluating one checkpoint."""

    step: int
    samples: int
    seconds: float
    loss: float
    accuracy: float | None


@ray.remote(concurrency_groups={"control": 1, "mail": 1})  # type: ignore[call-overload]
class Node:
    """A process that is a worker in one trial and may be a server in the next."""

    def __init__(self) -> None:
        self._address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        self._endpoint: Endpoint | None = None
        self._transport: Transport | None = None
        self._log: StepLog[Any] = StepLog()
        self._node: Worker | Server | BareWorker | None = None
        self._host = this_host(ray.get_runtime_context().get_node_id())

    def host(self) -> Host:
        """Return where this process lives."""
        return self._host

    def code(self) -> Code:
        """Return which psbench this process runs."""
        return this_code()

    def num_gpus(self) -> int:
        """Return the GPUs that torch sees in this process: those that Ray reserved for it."""
        return torch.cuda.device_count()

    def open(self, transport: str, *, loopback: bool, cores: tuple[int, ...]) -> str:
        """Leave the world of the trial before, open an endpoint and return its address.

        It listens on the interface by which Ray knows this host, or on loopback alone. This process
        is held to `cores`; to none where they are empty.
        """
        hold_to(cores or self._host.cores)
        self._node = None
        self._log.drain()
        if self._transport is not None:
            self._transport.close()
        self._transport = None
        interface = "127.0.0.1" if loopback else self._address
        self._endpoint = open_endpoint(transport, interface, home=self._host.home)
        return self._endpoint.address

    def connect(self, addresses: list[str], **world: Any) -> None:
        """Join the world of these addresses; `world` as of the endpoint's `connect`."""
        endpoint, self._endpoint = self._endpoint, None
        assert endpoint is not None, "open comes before connect"
        self._transport = endpoint.connect(addresses, **world)

    def evaluated_steps(self) -> list[int]:
        """Return the steps whose parameters are to be evaluated, after a trial."""
        assert self._node is not None, "train or serve comes before evaluating"
        return [point.step for point in self._node.checkpoints]

    def part(self, step: int) -> torch.Tensor:
        """Return a server's part of the parameters of one of these steps."""
        assert isinstance(self._node, Server)
        return self._node.part(step)

    def evaluate(self, step: int, *earlier: torch.Tensor) -> Evaluation:
        """Evaluate the parameters of a step; `earlier` are the parts of them before ours."""
        assert self._node is not None
        (point,) = (point for point in self._node.checkpoints if point.step == step)
        whole = torch.cat([*earlier, point.parameters]) if earlier else point.parameters
        loss, accuracy = self._node.learner.evaluate(whole)
        return Evaluation(
            step=point.step,
            samples=point.samples,
            seconds=point.seconds,
            loss=loss,
            accuracy=accuracy,
        )

    def parameters(self) -> npt.NDArray[np.generic]:
        """Return a copy of the flat parameters (a server: of its shard) after the trial."""
        assert self._node is not None
        node = self._node
        vector = node.parameters if isinstance(node, Server) else node.learner.parameters
        return vector.cpu().numpy().copy()

    @ray.method(concurrency_group="control")
    def ping(self) -> None:
        """Answer, which says that the process lives."""

    @ray.method(concurrency_group="control")
    def drain(self) -> list[Any]:
        """Return the steps, or points of a benchmark, finished since the last call."""
        return self._log.drain()

    @ray.method(concurrency_group="mail")
    def deliver(self, *sent: Any) -> bool:
        """Take in what a process of our world sends; `sent` as of `object_store.deliver`."""
        return deliver(*sent)

    def train(self, job: Job) -> Report:
        """Run one trial as a rank."""
        transport = self._prepare(job)
        if isinstance(job.trial.cell.strategy, Bare):
            self._node = BareWorker(job)
        else:
            self._node = Worker(job, transport, self._log)
        return self._measured(self._node, self._node.train())

    def serve(self, job: Job) -> Report:
        """Run one trial as a parameter server."""
        self._node = Server(job, self._prepare(job))
        return self._measured(self._node, self._node.serve())

    def copy_limit(self) -> CopyLimit:
        """Measure how fast memory is copied here."""
        return copy_limit(self._host.cores)

    def bench(self, job: BenchJob) -> None:
        """Carry out the points of a benchmark, which are logged as they are finished."""
        assert self._transport is not None, "connect comes before a benchmark"
        torch.set_num_threads(1)
        bench = bench_push_pull if job.served else bench_collectives
        bench(job, self._transport, self._log)

    def probe_link(self) -> list[Observation]:
        """Measure the link between ranks 0 and 1; rank 0 returns what it saw."""
        assert self._transport is not None, "connect comes before a probe"
        torch.set_num_threads(1)
        return probe_link(self._transport)

    def _measured(self, node: Worker | Server | BareWorker, report: Report) -> Report:
        return replace(report, peak_memory_bytes=peak_memory_bytes(), digest=node.learner.digest)

    def _prepare(self, job: Job) -> Transport:
        assert self._transport is not None, "connect comes before a trial"
        if os.path.isdir(job.folder):  # on another host it may not be there, nor be needed
            os.chdir(job.folder)
        self._node = None  # its memory is not this trial's
        reset_peak_memory()
        # a setting of each thread: not in __init__, which another one runs
        torch.set_num_threads(job.trial.cell.cpus_per_process)
        return self._transport
