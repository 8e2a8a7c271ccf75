"""How the processes of a cell lie on hosts, and servers that lie where they should not."""

import pytest

from psbench.errors import PlacementError
from psbench.live.host import Host
from psbench.live.placement import Layout, Member, check_colocated
from psbench.spec import Cell


def make_cell(workers, *, cluster=None, **options):
    strategy = {"kind": "parameter_server", "consistency": "asynchronous", **options}
    return Cell(
        task={"payload": "1 KiB"}, steps=1, workers=workers, strategy=strategy, cluster=cluster
    )


TWO_EACH = {"ranks_per_host": 2}
TOGETHER = {"placement": "colocated"}


@pytest.mark.parametrize(
    ("options", "hosts"),
    [
        ({}, (0, 0, 1, 1, 2)),
        ({"servers": 3}, (0, 0, 1, 1, 2, 3, 4)),
        (TOGETHER, (0, 0, 1, 1, 0, 1)),
        ({"servers": 1, **TOGETHER}, (0, 0, 1, 1, 0)),
        ({"servers": 3, **TOGETHER}, (0, 0, 1, 1, 0, 1, 0)),
    ],
)
def test_servers_have_hosts_of_their_own_or_sit_with_the_workers(options, hosts):
    assert Layout.of(make_cell(4, cluster=TWO_EACH, **options)).hosts == hosts


def members(homes):
    """A process in each home, workers first."""
    places = [
        Host(name=home, pid=7, started="1", boot="b", pid_space="p", home=home, cores=(0,))
        for home in homes
    ]
    names = ["rank 0", "rank 1", "server 0", "server 1"]
    return [
        Member(name=name, is_rank=name.startswith("rank"), actor=None, host=host)
        for name, host in zip(names, places, strict=True)
    ]


def test_a_colocated_server_that_lies_alone_is_told_of():
    together = make_cell(2, servers=2, **TOGETHER)
    check_colocated(together, members("aaaa"))
    check_colocated(together, members("abba"))
    alone = members("abac")
    check_colocated(make_cell(2, servers=2), alone)
    with pytest.raises(PlacementError) as error:
        check_colocated(together, alone)
    assert str(error.value) == (
        "strategy.placement is colocated, and server 1 (pid 7 on c) is where no worker is; set"
        " cluster.hosts or cluster.ranks_per_host"
    )
