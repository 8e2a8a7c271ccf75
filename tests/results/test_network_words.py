"""Networks as people say them: the link between hosts, and of the rest what differs."""

import pytest

from psbench.results import networks_in_words, networks_told_in_words

ETHERNET = {"preset": "ethernet-10g"}
OWN = {"bandwidth": "1250000000.0 B/s", "latency": "2e-05 s"}


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        (("network.preset",), True),
        (("network.file", "network.preset"), True),
        (("network.inside.bandwidth",), True),
        (("network.hosts_per_group",), True),
        (("network.in_network_reduction",), True),
        (("network.bandwidth", "network.latency"), False),
        (("network.oversubscription",), False),
        (("workers", "task.preset"), False),
    ],
)
def test_what_is_no_number_is_told_in_words_with_what_is(axes, told):
    assert networks_told_in_words((*axes, "strategy")) == (set(axes) if told else set())


@pytest.mark.parametrize(
    ("networks", "axes", "words"),
    [
        ((ETHERNET, {"preset": "nvlink"}), ("preset",), ["ethernet-10g", "nvlink"]),
        (
            (ETHERNET, OWN | {"overhead": "1e-06 s"}),
            ("preset", "bandwidth", "latency", "overhead"),
            ["ethernet-10g", "10.0 Gbit/s, latency 20.0 us, overhead 1.00 us"],
        ),
        (
            (ETHERNET, ETHERNET | {"bandwidth": "625000000.0 B/s", "inside": {"preset": "pcie"}}),
            ("bandwidth", "inside.preset"),
            ["ethernet-10g", "ethernet-10g, 5.00 Gbit/s, inside pcie"],
        ),
        (
            (
                ETHERNET | {"hosts_per_group": None, "oversubscription": 1.0},
                ETHERNET | {"hosts_per_group": 4, "oversubscription": 1.0},
                ETHERNET | {"hosts_per_group": 4, "oversubscription": 2.5},
            ),
            ("hosts_per_group", "oversubscription"),
            [
                "ethernet-10g",
                "ethernet-10g, 4 hosts a group",
                "ethernet-10g, 4 hosts a group, uplinks 2.5:1",
            ],
        ),
        (
            (
                ETHERNET | {"in_network_reduction": False},
                ETHERNET | {"in_network_reduction": True, "inside": {"preset": "pcie"}},
            ),
            ("in_network_reduction",),
            ["ethernet-10g", "ethernet-10g, in-network reduction"],
        ),
        (({"file": "mine.json"}, ETHERNET), ("file", "preset"), ["mine.json", "ethernet-10g"]),
    ],
)
def test_the_link_is_told_and_what_else_varies(networks, axes, words):
    assert networks_in_words(networks, [f"network.{name}" for name in axes]) == words


def test_nothing_is_told_of_the_one_network_that_goes_with_the_engine():
    axes = ("engine", "network.preset", "network.oversubscription")
    assert networks_in_words((None, ETHERNET, ETHERNET), axes) == ["", "", ""]
    words = ["", "ethernet-10g", "nvlink"]
    assert networks_in_words((None, ETHERNET, {"preset": "nvlink"}), axes) == words


def test_numbers_alone_are_left_to_their_own_names():
    slower = OWN | {"bandwidth": "125000000.0 B/s"}
    assert networks_in_words((OWN, slower), ("network.bandwidth",)) == ["", ""]
