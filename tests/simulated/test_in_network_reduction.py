"""Sums by switches in virtual time, against closed forms and against what ranks do themselves."""

import numpy as np
import pytest

from psbench.network import Link, Topology
from psbench.schedules import schedule_for
from psbench.simulated.collective import Collective, Occupied, simulate, simulate_in_network

LINK = Link(latency=5e-6, overhead=1e-6, byte_time=1e-9, reduce_time=2e-10)
FIXED = 2 * LINK.latency + 2 * LINK.overhead
NBYTES = 1_000_000
SECONDS = NBYTES * LINK.byte_time


def grouped(world, per_host=1, hosts_per_group=2, oversubscription=1.0):
    return Topology(
        hosts=tuple(rank // per_host for rank in range(world)),
        between=LINK,
        hosts_per_group=hosts_per_group,
        oversubscription=oversubscription,
    )


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        (Topology.flat(2, LINK), FIXED + SECONDS),
        (Topology.flat(64, LINK), FIXED + SECONDS),
        (grouped(2), FIXED + SECONDS),  # one group: one switch
        (grouped(8), FIXED + 2 * LINK.latency + SECONDS),
        (grouped(8, oversubscription=6.0), FIXED + 2 * LINK.latency + 3 * SECONDS),
        (Topology(hosts=(0, 0, 0, 1), between=LINK), FIXED + 3 * SECONDS),
        (grouped(16, per_host=4, oversubscription=6.0), FIXED + 2 * LINK.latency + 4 * SECONDS),
    ],
)
def test_a_sum_takes_what_the_closed_form_says(topology, expected):
    outcome = simulate_in_network([NBYTES], None, topology)
    np.testing.assert_allclose(outcome.finishes, expected, rtol=1e-12)
    assert (outcome.starts == 0.0).all()


@pytest.mark.parametrize("world", [2, 16, 128])
def test_long_vectors_take_what_is_moved(world):
    """A ring and servers on all ranks move 2 (p - 1)/p n each way, one server (p - 1) n, in then
    out; with the switch each rank moves n each way, both at once."""
    link = Link(latency=5e-6, overhead=1e-6, byte_time=1e-9, reduce_time=0.0)
    topology, numel = Topology.flat(world, link), 1_000_000_000
    switch = simulate_in_network([4 * numel], None, topology).finish
    share = (world - 1) / world
    for name, ratio in [("ring", 2 * share), ("direct", 2 * share), ("star", 2 * (world - 1))]:
        collective = Collective(schedule=schedule_for(name, world), numel=numel)
        assert simulate([collective], topology).finish / switch == pytest.approx(ratio, rel=1e-3)


def test_all_wait_for_the_last_and_hold_their_ports_meanwhile():
    starts = np.array([[0.0, 1.0, 0.5]])
    outcome = simulate_in_network([NBYTES], starts, Topology.flat(3, LINK))
    np.testing.assert_allclose(outcome.finishes, 1.0 + FIXED + SECONDS)
    np.testing.assert_allclose(outcome.occupied.ports[0], 1.0 + LINK.overhead + SECONDS)
    np.testing.assert_allclose(outcome.waits, [[1.0, 0.0, 0.5]])
    # they hold them, but move no more bytes than if none had been late
    np.testing.assert_allclose(outcome.ports, LINK.overhead + SECONDS)
    np.testing.assert_allclose(outcome.cards, SECONDS)
    assert (outcome.adding == 0.0).all()


@pytest.mark.parametrize(("in_turn", "between"), [(True, FIXED), (False, LINK.overhead)])
def test_buckets_follow_one_another(in_turn, between):
    outcome = simulate_in_network(
        [NBYTES, 2 * NBYTES, NBYTES], None, Topology.flat(4, LINK), in_turn=in_turn
    )
    ends = FIXED + np.cumsum([SECONDS, between + 2 * SECONDS, between + SECONDS])
    np.testing.assert_allclose(outcome.finishes, np.repeat(ends[:, None], 4, axis=1))


def test_what_is_still_busy_is_carried_over():
    topology = grouped(8, per_host=2, oversubscription=5.0)
    starts = np.random.default_rng(0).uniform(0.0, 2e-3, (4, 8))
    sizes = [NBYTES, 10, NBYTES // 2, NBYTES]
    together = simulate_in_network(sizes, starts, topology, in_turn=False)
    occupied = None
    for bucket, nbytes in enumerate(sizes):
        alone = simulate_in_network([nbytes], starts[bucket][None], topology, occupied=occupied)
        assert alone.finishes[0].tolist() == together.finishes[bucket].tolist()
        occupied = alone.occupied
    for name in ("ports", "cards", "uplinks", "adders"):
        assert np.array_equal(getattr(occupied, name), getattr(together.occupied, name))


@pytest.mark.parametrize("name", ["ports", "cards", "uplinks"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_busy_resource_delays_those_that_need_it(name, side):
    topology = grouped(4)  # rank and host 3, in group 1
    occupied = Occupied.nothing(topology)
    getattr(occupied, name)[side, -1] = 1.0
    late = simulate_in_network([NBYTES], None, topology, occupied=occupied).finishes[0]
    alone = simulate_in_network([NBYTES], None, topology).finish
    # what is late on the way up is late for all, what is on the way down for its own ranks
    delayed = [2, 3] if name == "uplinks" else [3]
    expected = np.full(4, 1.0 + alone) if side == 0 else np.full(4, alone)
    if side == 1:
        expected[delayed] = 1.0 + LINK.overhead + SECONDS
    np.testing.assert_allclose(late, expected)


def test_nothing_to_sum_takes_no_time():
    starts = np.array([[0.0, 1.0]])
    outcome = simulate_in_network([0], starts, Topology.flat(2, LINK))
    assert outcome.finishes.tolist() == starts.tolist()
    assert simulate_in_network([NBYTES], None, Topology.flat(1, LINK)).finish == 0.0
    assert simulate_in_network([], None, Topology.flat(2, LINK)).finishes.shape == (0, 2)


def test_the_card_of_the_fullest_host_is_what_binds():
    busiest = simulate_in_network(
        [NBYTES], None, Topology(hosts=(0, 1, 1, 1), between=LINK)
    ).busiest
    assert (busiest.resource, busiest.index) == ("card", 1)
    assert busiest.share == pytest.approx(3 * SECONDS / (FIXED + 3 * SECONDS))
