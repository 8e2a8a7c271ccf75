"""Links by name: what an empty message takes, what a link carries, and what ranks above what."""

import pytest

from psbench.network import PRESETS

GBIT = 1e9 / 8


def one_way(name):
    return PRESETS[name].latency + 2 * PRESETS[name].overhead


def rate(name):
    return 1 / PRESETS[name].byte_time


@pytest.mark.parametrize(
    ("name", "microseconds", "bytes_a_second"),
    [
        ("ethernet-1g", 40, 117.7e6),
        ("ethernet-10g", 24, 1.177e9),
        ("ethernet-25g", 15, 2.942e9),
        ("ethernet-100g", 15, 11.77e9),
        ("rdma-100g", 2, 12.25e9),
        ("rdma-400g", 2, 49.0e9),
        ("nvlink", 1.9, 240e9),
        ("nvswitch", 1.9, 370.8e9),
        ("pcie", 2.5, 24e9),
    ],
)
def test_a_preset_is_an_empty_messages_time_and_the_payload_a_line_carries(
    name, microseconds, bytes_a_second
):
    assert one_way(name) == pytest.approx(microseconds * 1e-6)
    assert rate(name) == pytest.approx(bytes_a_second, rel=1e-3)


def test_every_preset_is_here():
    ethernet = {f"ethernet-{gbit}g" for gbit in (1, 10, 25, 100)}
    assert set(PRESETS) == ethernet | {"rdma-100g", "rdma-400g", "nvlink", "nvswitch", "pcie"}


def test_no_link_carries_more_than_its_line():
    lines = {"nvlink": 300e9, "nvswitch": 450e9, "pcie": 16e9 * 16 / 8 * 128 / 130}
    lines |= {f"ethernet-{gbit}g": gbit * GBIT for gbit in (1, 10, 25, 100)}
    lines |= {f"rdma-{gbit}g": gbit * GBIT for gbit in (100, 400)}
    for name, line in lines.items():
        assert 0.75 * line < rate(name) < line, name


@pytest.mark.parametrize("name", PRESETS)
def test_all_that_a_message_costs_is_above_nothing(name):
    assert all(value > 0 for value in PRESETS[name].costs().values())
    # what occupies a port is less than what a message takes
    assert 2 * PRESETS[name].overhead <= one_way(name) / 2


def test_gpus_add_faster_than_their_links_carry_and_a_core_does_not_keep_up_with_100_gbit():
    for name in ("rdma-100g", "rdma-400g", "nvlink", "nvswitch", "pcie"):
        assert PRESETS[name].reduce_time < PRESETS[name].byte_time
    assert PRESETS["ethernet-25g"].reduce_time < PRESETS["ethernet-25g"].byte_time
    assert PRESETS["ethernet-100g"].reduce_time > PRESETS["ethernet-100g"].byte_time
