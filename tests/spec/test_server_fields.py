"""How many servers a cell has, what it takes of the cluster for them, and what is refused."""

import pytest

from psbench.errors import SpecError
from psbench.spec import Spec, cell_id


def cell(workers=4, cluster=None, **options):
    strategy = {"kind": "parameter_server", "consistency": "synchronous", **options}
    task = {"payload": "4 kB"}
    (one,) = Spec(
        name="x", task=task, steps=3, workers=workers, strategy=strategy, cluster=cluster
    ).cells()
    return one


TOGETHER = {"placement": "colocated"}


@pytest.mark.parametrize(
    ("options", "cluster", "servers"),
    [
        ({}, None, 1),
        ({}, {"ranks_per_host": 1}, 1),
        ({"servers": 3}, None, 3),
        ({"servers": 3}, {"hosts": 2}, 3),
        ({"servers": "workers"}, None, 4),
        ({"servers": "workers", **TOGETHER}, {"hosts": 2}, 4),
        (TOGETHER, None, 1),
        (TOGETHER, {"cpus_per_worker": 2}, 1),
        (TOGETHER, {"hosts": 2}, 2),
        (TOGETHER, {"ranks_per_host": 3}, 2),
        (TOGETHER, {"ranks_per_host": 1}, 4),
        ({"servers": 1, **TOGETHER}, {"hosts": 2}, 1),
        ({"servers": 6, **TOGETHER}, {"hosts": 2}, 6),  # three on each host
    ],
)
def test_servers(options, cluster, servers):
    one = cell(cluster=cluster, **options)
    assert (one.servers, one.processes) == (servers, 4 + servers)
    assert one.cpus == one.processes * one.cpus_per_process


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({"servers": 2}, "ps-sync(servers=2), 4 workers"),
        (TOGETHER, "ps-sync(placement=colocated), 4 workers"),
        (
            {"servers": 2, "bucket": "1 MiB", **TOGETHER},
            "ps-sync(servers=2, placement=colocated, bucket=1.00 MiB), 4 workers",
        ),
    ],
)
def test_labels(options, label):
    assert cell(**options).label == label


def test_what_is_left_out_leaves_the_id_as_it_is():
    assert cell_id(cell(servers=None, placement="dedicated")) == cell_id(cell())
    ids = {cell_id(cell(**options)) for options in ({}, {"servers": 1}, {"servers": 2}, TOGETHER)}
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"servers": 0}, "strategy.servers: must be at least 1, got 0"),
        ({"servers": 65_537}, "strategy.servers: must be at most 65536, got 65537"),
        ({"servers": "2"}, "strategy.servers: expected a whole number or workers, got '2'"),
        ({"servers": True}, "strategy.servers: expected a whole number or workers, got true"),
        (
            {"placement": "colocate"},
            "strategy.placement: unknown placement 'colocate'; did you mean 'colocated'?"
            " (known: dedicated, colocated)",
        ),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(SpecError) as error:
        cell(**options)
    assert str(error.value) == message


def test_both_are_axes():
    axes = {"strategy.servers": [1, 2], "strategy.placement": ["dedicated", "colocated"]}
    spec = Spec(
        name="x", task={"payload": "4 B"}, steps=1, workers=2, strategy="ps-async", matrix=axes
    )
    assert [(one.servers, one.strategy.placement) for one in spec.cells()] == [
        (1, "dedicated"),
        (1, "colocated"),
        (2, "dedicated"),
        (2, "colocated"),
    ]
