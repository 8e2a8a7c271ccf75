"""Rounds in which all workers push to one server and pull the sum, through the live server."""

import torch

from psbench.live.bench.calls import BenchJob, PointTimes, time_calls
from psbench.live.bench.integers import DTYPES, CheckedCalls, KnownSums
from psbench.live.bench.plan import Point
from psbench.live.counters import Counters
from psbench.live.job import Job, StepLog
from psbench.live.letters import HEADERS, PAYLOADS
from psbench.live.parameter_client import Answers, ParameterClient
from psbench.live.server import Server
from psbench.live.transports import Transport
from psbench.spec import Cell, Trial

_BARRIERS = max(HEADERS, PAYLOADS) + 1
"""The channel on which workers wait for one another while the server serves."""


def bench_push_pull(job: BenchJob, transport: Transport, log: StepLog[PointTimes]) -> None:
    """Carry out the one point of `job` as a worker, which logs what it took, or as the server.

    One point a world: a server that ends has posted receives that nothing is sent to any more.
    """
    (point,) = job.points
    seconds, wrong = None, 0
    if transport.capabilities.recv_any:
        if transport.rank == job.workers:
            Server(_served(job, point), transport).serve()
            return
        seconds, wrong = _push_and_pull(job, point, transport)
    log.append(PointTimes(step=0, rank=transport.rank, seconds=seconds, wrong=wrong))


def _served(job: BenchJob, point: Point) -> Job:
    """Return the trial in which a server sums what is pushed, and no more than that."""
    fields = {
        "task": {"payload": f"{point.nbytes} B", "dtype": job.dtype},
        "workers": job.workers,
        "strategy": "ps-sync",
        "steps": point.warm_up + point.calls,
    }
    trial = Trial(cell=Cell.model_validate(fields), repeat=0, seed=0)
    return Job(trial=trial, generation=job.generation, folder=".")


def _push_and_pull(
    job: BenchJob, point: Point, transport: Transport
) -> tuple[tuple[float, ...], int]:
    dtype = DTYPES[job.dtype]
    numel = point.nbytes // dtype.itemsize
    sums = KnownSums(numel, dtype=job.dtype, world=job.workers)
    pushed = transport.allocate(numel, dtype=dtype)
    pulled = torch.zeros(numel, dtype=dtype)
    client = ParameterClient(
        Answers(transport, job.workers),
        gradients=pushed,
        parameters=pulled,
        generation=job.generation,
        counters=Counters(),
    )

    checked = CheckedCalls(
        sums, given=pushed, result=pulled, rank=transport.rank, calls=point.warm_up + point.calls
    )

    def carry_out() -> None:
        client.push().finish()

    def barrier() -> None:
        workers_barrier(transport, job.workers)

    client.pull().finish()
    transport.barrier()  # with the server, which opens a trial so
    measured = time_calls(carry_out, checked, point, barrier)
    client.leave()
    return measured


def workers_barrier(transport: Transport, workers: int) -> None:
    """Block until every one of the first `workers` processes has come here.

    By dissemination (Hensgen, Finkel and Manber 1988): in round k each tells the one 2^k further
    on. The transport's own barrier would wait for the server, which is busy serving.
    """
    channel = transport.channel(_BARRIERS)
    told, heard = torch.zeros(1, dtype=torch.uint8), torch.zeros(1, dtype=torch.uint8)
    distance = 1
    while distance < workers:
        after = (transport.rank + distance) % workers
        before = (transport.rank - distance) % workers
        channel.exchange([(after, told)], [(before, heard)]).synchronize()
        distance *= 2
