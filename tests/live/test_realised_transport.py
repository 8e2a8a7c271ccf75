"""What `transport: auto` stands for, by where the processes of a cell live."""

import dataclasses

import pytest

from psbench.live.host import this_host
from psbench.live.transports import MIXED
from psbench.live.world import realised_transport
from psbench.spec import Spec


@pytest.mark.parametrize(
    ("homes", "strategy", "expected"),
    [
        ("a", "ring", "shared_memory"),
        ("aaa", "ring", "shared_memory"),
        ("aaa", "ps-sync", "shared_memory"),
        ("abc", "ring", "gloo"),
        ("aab", "ring", MIXED),
        ("abca", "ps-async", MIXED),
        ("aaa", "native", "gloo"),
        ("aab", "native", "gloo"),
    ],
)
def test_auto_goes_by_who_shares_a_host(homes, strategy, expected):
    fields = {"name": "x", "task": {"payload": "4 B"}, "steps": 1, "strategy": strategy}
    servers = int(strategy.startswith("ps"))
    (cell,) = Spec(**fields, workers=len(homes) - servers).cells()
    hosts = [dataclasses.replace(this_host(), home=home) for home in homes]
    assert realised_transport(cell, hosts) == expected
    asked = cell.model_copy(update={"transport": "gloo"})
    assert realised_transport(asked, hosts) == "gloo"


def test_a_ray_node_stands_for_a_host():
    assert this_host("one").home == this_host("one").home
    assert len({this_host(node).home for node in ("", "one", "other")}) == 3
