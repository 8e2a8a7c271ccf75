"""The points of a benchmark, carried out by threads over real transports."""

import itertools
import threading

import numpy as np
import pytest
import torch

from psbench.errors import SpecError
from psbench.live.auto import ON_ONE_HOST
from psbench.live.bench import push_pull
from psbench.live.bench.calls import BenchJob, time_calls
from psbench.live.bench.collectives import bench_collectives
from psbench.live.bench.integers import CheckedCalls, KnownSums
from psbench.live.bench.plan import NATIVE, PUSH_PULL, WARM_UP, BenchPlan, Point
from psbench.live.bench.push_pull import bench_push_pull, workers_barrier
from psbench.live.bench.session import _whole
from psbench.live.cores import in_turn
from psbench.live.host import Host
from psbench.live.job import StepLog
from psbench.live.transports import OF_HOST_MEMORY

CALLS = 3


def job_of(points, workers, served=False, dtype="float32"):
    return BenchJob(points=points, served=served, dtype=dtype, workers=workers, generation=5)


def carry_out(transports, everywhere, job):
    """All ranks' PointTimes, by rank."""
    logs = [StepLog() for _ in transports]
    bench = bench_push_pull if job.served else bench_collectives
    everywhere(transports, lambda transport: bench(job, transport, logs[transport.rank]))
    return [log.drain() for log in logs]


@pytest.mark.parametrize("transport", OF_HOST_MEMORY)
def test_all_algorithms_at_all_sizes_sum_right(connect, everywhere, transport):
    plan = BenchPlan(sizes=(0, 4, 1000, 70_002), calls=CALLS)
    ((points, served),) = plan.worlds()
    transports = connect(3, transport)
    native = transports[0].capabilities.native_all_reduce
    logged = carry_out(transports, everywhere, job_of(points, 3, served))
    for rank, times in enumerate(logged):
        assert [one.rank for one in times] == [rank] * len(points)
        assert [one.step for one in times] == list(range(len(points)))
        for point, one in zip(points, times, strict=True):
            assert one.wrong == 0
            if point.algorithm == NATIVE and not native:
                assert one.seconds is None
            else:
                assert len(one.seconds) == point.calls
                assert min(one.seconds) > 0
    turns = [point for point in points if (point.algorithm, point.nbytes) == ("ring", 1000)]
    assert sum(point.calls for point in turns) == CALLS
    assert [point.turns_left for point in turns] == [2, 1, 0]


def test_a_point_is_whole_when_its_last_turn_is_done():
    def turn(algorithm, left, *seconds):
        point = Point(algorithm=algorithm, nbytes=8, calls=len(seconds), turns_left=left)
        return point, np.array(seconds), len(seconds)

    turns = [turn("ring", 1, 1.0, 5.0), turn("tree", 1, 2.0), turn("ring", 0, 3.0)]
    turns += [turn("tree", 0, 4.0), turn("star", 0, 6.0)]
    whole = [(point.algorithm, seconds.tolist(), wrong) for point, seconds, wrong in _whole(turns)]
    assert whole == [("ring", [1.0, 5.0, 3.0], 3), ("tree", [2.0, 4.0], 2), ("star", [6.0], 1)]


@pytest.mark.parametrize("nbytes", [0, 4, 70_000])
@pytest.mark.parametrize("workers", [1, 3])
def test_rounds_through_a_server_sum_right(connect, everywhere, workers, nbytes):
    point = Point(algorithm=PUSH_PULL, nbytes=nbytes, calls=CALLS)
    transports = connect(workers + 1)
    logged = carry_out(transports, everywhere, job_of((point,), workers, served=True))
    assert logged[workers] == []
    for (one,) in logged[:workers]:
        assert one.wrong == 0
        assert len(one.seconds) == CALLS


def test_a_wrong_sum_is_counted_on_every_rank_and_call(connect, everywhere, monkeypatch):
    def one_that_forgets(transport, schedule, **options):
        return type("Forgets", (), {"run": lambda *_: None})()

    monkeypatch.setattr("psbench.live.bench.collectives.collective_for", one_that_forgets)
    points = (Point(algorithm="ring", nbytes=400, calls=CALLS),)
    for (one,) in carry_out(connect(2), everywhere, job_of(points, 2)):
        assert one.wrong == (WARM_UP + CALLS) * 100


class Told:
    """Sums that tell what happens to them."""

    def __init__(self):
        self.told = []

    def give(self, number):
        self.told.append(("give", number))

    def take(self, number):
        self.told.append(("take", number))

    def wrong(self):
        return 7


def test_a_call_is_timed_between_barriers_and_checked_behind_the_second():
    sums = Told()
    seconds, wrong = time_calls(
        lambda: sums.told.append("call"),
        sums,
        Point(algorithm="ring", nbytes=4, calls=2, warm_up=3),
        lambda: sums.told.append("barrier"),
    )
    assert len(seconds) == 2
    assert wrong == 7
    each = [[("give", n), "barrier", "call", "barrier", ("take", n)] for n in range(3 + 2)]
    assert sums.told == list(itertools.chain(*each))


@pytest.mark.parametrize("numel", [100, 100_000])  # short ones are checked in the end
def test_calls_of_any_length_are_checked(numel):
    sums = KnownSums(numel, dtype="float32", world=2)
    given, result, other = torch.empty(numel), torch.empty(numel), torch.empty(numel)
    checked = CheckedCalls(sums, given=given, result=result, rank=0, calls=3)
    for call, damage in enumerate((0, 5, 2)):
        checked.give(call)
        sums.fill(other, rank=1, call=call)
        torch.add(given, other, out=result)
        result[:damage] += 1
        checked.take(call)
    assert checked.wrong() == 7


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_nobody_leaves_a_barrier_before_all_have_come(connect, everywhere, workers):
    come, lock, seen = set(), threading.Lock(), []

    def go(transport):
        if transport.rank == workers:
            return  # a server, which takes no part
        with lock:
            come.add(transport.rank)
        workers_barrier(transport, workers)
        seen.append(len(come))

    everywhere(connect(workers + 1), go)
    assert seen == [workers] * workers
    assert push_pull._BARRIERS not in (push_pull.HEADERS, push_pull.PAYLOADS)


def test_a_plan_has_every_algorithm_at_every_size_and_fewer_calls_of_large_ones():
    plan = BenchPlan(algorithms=("tree", PUSH_PULL, "ring"), sizes=(16 * 2**20, 1023), calls=24)
    (collectives, served), *rounds = plan.worlds()
    assert not served
    assert collectives == tuple(
        Point(
            algorithm=name,
            nbytes=nbytes,
            calls=calls,
            warm_up=4 if left == 3 else 1,
            turns_left=left,
        )
        for nbytes, shares in ((1020, (6, 6, 6, 6)), (16 * 2**20, (2, 2, 1, 1)))
        for left, calls in zip((3, 2, 1, 0), shares, strict=True)
        for name in ("tree", "ring")
    )
    alone = BenchPlan(algorithms=("ring",), sizes=(1024,)).worlds()
    assert next(alone) == ((Point(algorithm="ring", nbytes=1024, calls=20),), False)
    assert [(point.nbytes, served) for (point,), served in rounds] == [
        (1020, True),
        (16 * 2**20, True),
    ]
    assert plan.processes == 5
    assert BenchPlan().algorithms == (*ON_ONE_HOST, NATIVE)
    largest = BenchPlan(algorithms=("ring",), sizes=(2**30,), calls=3).worlds()
    assert next(largest)[0][0].calls == 3
    ((points, _),) = BenchPlan(algorithms=("ring",), sizes=(7, 4, 3, 0)).worlds()
    assert [point.nbytes for point in points] == [0, 4], "in whole elements, each once"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"algorithms": ("rign",)}, "--algorithms: unknown 'rign'; .*did you mean 'ring'"),
        ({"transports": ("glo",)}, "--transports: unknown 'glo'; .*did you mean 'gloo'"),
        ({"dtype": "float31"}, "--dtype: unknown 'float31'"),
        ({"dtype": "int32", "algorithms": ("push_pull",)}, "push_pull knows float32, float64"),
        ({"workers": (2, 0)}, "--workers 0: from 1"),
        ({"calls": 0}, "--calls 0: at least 1"),
        (
            {"algorithms": ("native",), "transports": ("shared_memory",)},
            "shared_memory has no all-reduce of its own; gloo has",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong, message):
    with pytest.raises(SpecError, match=message):
        BenchPlan(**wrong)


def test_a_core_is_taken_in_turn_where_there_are_more_processes():
    def on(boot, cores):
        return Host(name=boot, pid=1, started="1", boot=boot, pid_space="1", cores=cores)

    hosts = [on("a", (0, 2)), on("b", (5,)), on("a", (0, 2)), on("a", (0, 2)), on("b", (5,))]
    assert in_turn(hosts) == [(0,), (5,), (2,), (0,), (5,)]
    assert in_turn(hosts, cores_each=2) == [(0, 2), (5,), (0, 2), (0, 2), (5,)]


def test_views_of_one_vector_are_summed_in_half_precision_too(connect, everywhere):
    points = (Point(algorithm="ring", nbytes=200, calls=1),)
    for (one,) in carry_out(connect(3), everywhere, job_of(points, 3, dtype="bfloat16")):
        assert one.wrong == 0
    assert torch.bfloat16.itemsize == 2


@pytest.mark.parametrize(("calls", "kept"), [(1024, 1024), (1025, 0)])
def test_short_vectors_are_kept_unless_there_are_very_many(calls, kept):
    vector = torch.empty(8192)
    sums = KnownSums(len(vector), dtype="float32", world=2)
    checked = CheckedCalls(sums, given=vector, result=vector, rank=0, calls=calls)
    assert len(checked._inputs) == len(checked._results) == kept
