"""The strategy a process builds of its trial: what the cell says reaches the schedule."""

import pytest

from psbench.live.job import Job
from psbench.schedules import verify
from psbench.spec import Cell, Trial
from psbench.strategies import AllReduce


def schedule_of(strategy, **fields):
    cell = Cell(task={"payload": "1 KiB"}, steps=1, workers=6, strategy=strategy, **fields)
    job = Job(trial=Trial(cell=cell, repeat=0, seed=0), generation=0, folder=".")
    _, command = (command for command, _ in zip(job.strategy(256).step(), range(2), strict=False))
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
