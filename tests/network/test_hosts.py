"""Rank r is on host r // ranks_per_host; servers follow on hosts of their own."""

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
