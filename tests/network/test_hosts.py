"""Which host each process is on: rank r is on host r // ranks_per_host, servers by placement."""

import pytest

from psbench.network import logical_hosts


@pytest.mark.parametrize(
    ("workers", "servers", "ranks_per_host", "hosts"),
    [
        (1, 0, 1, (0,)),
        (4, 0, 2, (0, 0, 1, 1)),
        (5, 1, 2, (0, 0, 1, 1, 2, 3)),
        (2, 2, 8, (0, 0, 1, 2)),
    ],
)
def test_hosts(workers, servers, ranks_per_host, hosts):
    assert logical_hosts(workers=workers, servers=servers, ranks_per_host=ranks_per_host) == hosts


@pytest.mark.parametrize(
    ("workers", "servers", "ranks_per_host", "hosts"),
    [
        (4, 2, 2, (0, 0, 1, 1, 0, 1)),
        (4, 1, 1, (0, 1, 2, 3, 0)),
        (3, 5, 2, (0, 0, 1, 0, 1, 0, 1, 0)),
        (2, 2, 8, (0, 0, 0, 0)),
    ],
)
def test_colocated_servers_are_on_the_ranks_hosts_in_turn(workers, servers, ranks_per_host, hosts):
    options = {"workers": workers, "servers": servers, "ranks_per_host": ranks_per_host}
    assert logical_hosts(**options, colocated=True) == hosts
