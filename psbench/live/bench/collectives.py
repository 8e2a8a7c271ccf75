"""A rank's calls of all-reduces, ours and the transport's own."""

from collections.abc import Callable

from torch import Tensor

from psbench.live.bench.calls import BenchJob, PointTimes, time_calls
from psbench.live.bench.integers import DTYPES, CheckedCalls, KnownSums
from psbench.live.bench.plan import NATIVE, Point
from psbench.live.collective import collective_for
from psbench.live.counters import Counters
from psbench.live.headers import Header
from psbench.live.job import StepLog
from psbench.live.transports import Transport
from psbench.schedules import ALGORITHMS


def bench_collectives(job: BenchJob, transport: Transport, log: StepLog[PointTimes]) -> None:
    """Carry out all points as a rank, in their order, and log what each took."""
    dtype = DTYPES[job.dtype]
    longest = max(point.nbytes for point in job.points) // dtype.itemsize
    sums = KnownSums(longest, dtype=job.dtype, world=transport.size)
    memory = transport.allocate(longest, dtype=dtype)
    for number, point in enumerate(job.points):
        seconds, wrong = None, 0
        if point.algorithm != NATIVE or transport.capabilities.native_all_reduce:
            vector = memory[: point.nbytes // dtype.itemsize]
            rank, calls = transport.rank, point.warm_up + point.calls
            checked = CheckedCalls(sums, given=vector, result=vector, rank=rank, calls=calls)
            carry_out = _collective(job, point, transport, vector)
            seconds, wrong = time_calls(carry_out, checked, point, transport.barrier)
        log.append(PointTimes(step=number, rank=transport.rank, seconds=seconds, wrong=wrong))


def _collective(
    job: BenchJob, point: Point, transport: Transport, vector: Tensor
) -> Callable[[], None]:
    counters = Counters()
    if point.algorithm == NATIVE:
        return lambda: transport.native_all_reduce(vector, transport.size)
    schedule = ALGORITHMS[point.picked or point.algorithm](transport.size)
    collective = collective_for(transport, schedule, numel=len(vector))
    header = Header.describing(vector, generation=job.generation, step=0)
    return lambda: collective.run(vector, header, counters)
