"""The strategy a process builds of its trial: what the cell says reaches the schedule."""

import pytest

from psbench.live.job import Job
from psbench.schedules import verify
from psbench.spec import Cell, Trial
from psbench.strategies import AllReduce
from psbench.trial import Pick


def schedule_of(strategy, pick=None, **fields):
    cell = Cell(task={"payload": "1 KiB"}, steps=1, workers=6, strategy=strategy, **fields)
    trial = Trial(cell=cell, repeat=0, seed=0)
    job = Job(trial=trial, generation=0, folder=".", pick=pick or Pick())
    step = job.plan.strategy(256, 4).step(0)
    _, command = next(step), next(step)
    assert isinstance(command, AllReduce)
    verify(command.schedule)
    return command.schedule


@pytest.mark.parametrize(
    ("strategy", "cluster", "num_chunks"),
    [
        ("ring", None, 6),
        ("ring", {"ranks_per_host": 4}, 6),
        ("star", None, 1),
        ({"kind": "all_reduce", "algorithm": "star", "roots": 3}, None, 3),
        ({"kind": "all_reduce", "algorithm": "star", "roots": 3, "chunks": 7}, None, 7),
        ("hierarchical_leaders", {"hosts": 3}, 3),
        ("hierarchical_rails", {"ranks_per_host": 4}, 8),
    ],
)
def test_roots_chunks_and_hosts_reach_the_schedule(strategy, cluster, num_chunks):
    assert schedule_of(strategy, cluster=cluster).num_chunks == num_chunks


def test_what_auto_stands_for_reaches_the_schedule():
    chunks = {"kind": "all_reduce", "algorithm": "tree", "chunks": "auto"}
    assert schedule_of(chunks, Pick(chunks=9)).num_chunks == 9
    assert schedule_of("auto", Pick(algorithm="direct")).num_chunks == 6


def test_what_local_steps_go_over_is_built_as_by_itself():
    over = {"kind": "all_reduce", "algorithm": "tree", "chunks": "auto", "bucket": "1 KiB"}
    cell = Cell(
        task={"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}},
        batch={"per_worker": 4},
        steps=5,
        workers=6,
        strategy={"kind": "diloco", "every": 3, "lr": 0.5, "over": over},
    )
    trial = Trial(cell=cell, repeat=0, seed=0)
    strategy = Job(trial=trial, generation=0, folder=".", pick=Pick(chunks=9)).plan.strategy(512, 4)
    assert [strategy.agrees(step) for step in range(5)] == [False, False, True, False, True]
    (keep,) = strategy.start()
    assert (keep.outer.lr, keep.outer.momentum, keep.outer.nesterov) == (0.5, 0.9, True)
    sums = [command for command in strategy.step(2) if isinstance(command, AllReduce)]
    assert [(one.bucket.start, one.bucket.stop) for one in sums] == [(256, 512), (0, 256)]
    assert {one.schedule.num_chunks for one in sums} == {9}
