"""Every way of simulating collectives against the model that is slow and obvious, to the bit."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from psbench.network import Link, Topology
from psbench.schedules import Schedule
from psbench.schedules.tree import tree
from psbench.simulated.collective import Collective, Occupied, simulate
from psbench.simulated.collective.by_arrival import simulate_by_arrival
from psbench.simulated.collective.compiled import simulate_compiled
from psbench.simulated.collective.in_order import simulate_in_order
from psbench.simulated.collective.reference import simulate_by_events

LINK = Link(latency=5e-6, overhead=1e-6, byte_time=1e-9, reduce_time=2e-10)
INSIDE = Link(latency=1e-6, overhead=2e-6, byte_time=1e-10, reduce_time=3e-10)
LINKS = st.sampled_from(
    [
        LINK,
        Link(latency=5e-6, overhead=0.0, byte_time=1e-9, reduce_time=0.0),
        Link(latency=0.0, overhead=0.0, byte_time=1e-9, reduce_time=0.0),
        Link(latency=0.0, overhead=0.0, byte_time=0.0, reduce_time=2e-10),
        Link(latency=5e-6, overhead=0.0, byte_time=0.0, reduce_time=2e-10),
    ]
)
EXAMPLES = int(os.environ.get("PSBENCH_SCHEDULES", "100"))
many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

# ties and near misses are what orders depend on: few moments, and multiples of the link's times
MOMENTS = st.sampled_from([0.0, 1e-6, 2e-6, 6e-6, 2.5e-5])


@st.composite
def rounds(draw, round_of, world, num_chunks):
    """Return a round of any transfers: time does not care whether they sum anything."""
    if world == 1:
        return round_of()
    transfers = []
    for _ in range(draw(st.integers(0, 6))):
        src, hop = draw(st.integers(0, world - 1)), draw(st.integers(1, world - 1))
        start = draw(st.integers(0, num_chunks - 1))
        stop = draw(st.integers(start + 1, num_chunks))
        transfers.append((src, (src + hop) % world, start, stop, draw(st.booleans())))
    return round_of(*transfers)


def moments(world):
    return st.lists(MOMENTS, min_size=world, max_size=world).map(np.array)


@st.composite
def in_flight(draw, round_of, world):
    """Return collectives of one world that are in flight together."""
    collectives = []
    for _ in range(draw(st.integers(1, 3))):
        num_chunks = draw(st.integers(1, 5))
        schedule = Schedule(
            world=world,
            num_chunks=num_chunks,
            rounds=draw(st.lists(rounds(round_of, world, num_chunks), max_size=4)),
        )
        collectives.append(
            Collective(
                schedule=schedule, numel=draw(st.integers(0, 3000)), starts=draw(moments(world))
            )
        )
    return collectives


@st.composite
def topologies(draw, world):
    per_host = draw(st.integers(1, 3))
    return Topology(
        hosts=tuple(rank // per_host for rank in range(world)),
        between=draw(LINKS),
        inside=draw(st.sampled_from([None, INSIDE])),
        hosts_per_group=draw(st.sampled_from([None, 1, 2])),
        oversubscription=draw(st.sampled_from([1.0, 2.0, 3.5])),
    )


@st.composite
def flat(draw, world):
    """Return a topology of a rank a host, these not in the order of ranks and not all in use."""
    hosts = draw(st.permutations(range(world + 2)))[:world]
    return Topology(hosts=tuple(hosts), between=draw(LINKS))


@st.composite
def occupied_anyhow(draw, topology):
    """Return what any earlier messages might have left."""
    nothing = Occupied.nothing(topology)
    world, hosts, groups = (own.shape[1] for own in (nothing.ports, nothing.cards, nothing.uplinks))
    return Occupied(
        ports=np.stack([draw(moments(world)), draw(moments(world))]),
        cards=np.stack([draw(moments(hosts)), draw(moments(hosts))]),
        uplinks=np.stack([draw(moments(groups)), draw(moments(groups))]),
        adders=draw(moments(world)),
    )


def assert_same(outcome, reference):
    """Moments are equal to the bit; sums of what was busy are, but for their order."""
    assert np.array_equal(outcome.starts, reference.starts)
    assert np.array_equal(outcome.finishes, reference.finishes)
    for name in ("ports", "cards", "uplinks", "adders"):
        left = getattr(outcome.occupied, name), getattr(reference.occupied, name)
        assert np.array_equal(*left), name
    for name in ("ports", "cards", "uplinks", "adding"):
        np.testing.assert_allclose(
            getattr(outcome, name), getattr(reference, name), rtol=1e-12, err_msg=name
        )


WORLDS = st.integers(1, 6)


@many
@given(world=WORLDS, in_turn=st.booleans(), data=st.data())
def test_compiled_events_are_the_model_to_the_bit(round_of, world, in_turn, data):
    topology = data.draw(topologies(world))
    occupied = data.draw(st.none() | occupied_anyhow(topology))
    for _ in range(2):  # the second with what the first left
        collectives = data.draw(in_flight(round_of, world))
        options = {"in_turn": in_turn, "occupied": occupied}
        reference = simulate_by_events(collectives, topology, **options)
        assert_same(simulate_compiled(collectives, topology, **options), reference)
        assert_same(simulate(collectives, topology, **options), reference)
        occupied = reference.occupied


@many
@given(world=WORLDS, alone=st.booleans(), data=st.data())
def test_serving_in_order_is_the_model_to_the_bit_or_is_not_done(round_of, world, alone, data):
    topology = data.draw(flat(world) if alone else topologies(world))
    occupied = data.draw(st.none() | occupied_anyhow(topology))
    for _ in range(2):
        collectives = data.draw(in_flight(round_of, world))
        reference = simulate_by_events(collectives, topology, occupied=occupied)
        outcome = simulate_in_order(collectives, topology, occupied=occupied)
        event("given up" if outcome is None else "served in order")
        if outcome is not None:
            assert_same(outcome, reference)
        occupied = reference.occupied


@many
@given(world=WORLDS, in_turn=st.booleans(), data=st.data())
def test_serving_by_arrival_is_the_model_to_the_bit_or_is_not_done(round_of, world, in_turn, data):
    topology = data.draw(flat(world))
    occupied = data.draw(st.none() | occupied_anyhow(topology))
    for _ in range(2):
        collectives = data.draw(in_flight(round_of, world))
        options = {"in_turn": in_turn, "occupied": occupied}
        reference = simulate_by_events(collectives, topology, **options)
        outcome = simulate_by_arrival(collectives, topology, **options)
        event("not done" if outcome is None else "served by arrival")
        if outcome is not None:
            assert_same(outcome, reference)
        occupied = reference.occupied


def test_an_order_that_depends_on_timing_is_seen(round_of):
    # rank 2 is sent to by 0 in round 0 and by 1 in round 1, which here is ready long before 0
    schedule = Schedule(
        world=4, num_chunks=1, rounds=[round_of((0, 2, 0, 1, 1)), round_of((1, 2, 0, 1, 1))]
    )
    topology = Topology.flat(4, LINK)

    def collectives(late):
        starts = np.array([late, 0.0, 0.0, 0.0])
        return [Collective(schedule=schedule, numel=1000, starts=starts)]

    assert simulate_in_order(collectives(0.0), topology) is not None
    late = collectives(1e-3)
    assert simulate_in_order(late, topology) is None
    # served at once, the second leaves the port long before the first comes
    assert simulate(late, topology).finish == pytest.approx(1e-3 + 1e-6 + 5e-6 + 5e-6 + 0.8e-6)


def test_a_tree_with_one_side_higher_is_served_by_arrival():
    # in a world of 8 the left side has the eighth: what comes from the right is a hop ahead of it
    schedule, topology = tree(8, 4), Topology.flat(8, LINK)
    collectives = [Collective(schedule=schedule, numel=4000)] * 2
    assert simulate_in_order(collectives, topology) is None
    outcome = simulate_by_arrival(collectives, topology)
    assert outcome is not None
    assert_same(outcome, simulate_by_events(collectives, topology))


def test_a_card_that_is_idle_for_a_message_that_waits_for_its_port_is_seen(round_of):
    # rank 0's second message waits for its port, behind one inside its host; the card is rank 1's
    # meanwhile, where that is ready before rank 0's port is free
    schedule = Schedule(
        world=4,
        num_chunks=10,
        rounds=[round_of((0, 1, 0, 10, 0), (0, 2, 0, 1, 0), (1, 3, 0, 1, 0))],
    )
    topology = Topology(hosts=(0, 0, 1, 1), between=LINK)
    port = LINK.overhead + 40_000 * LINK.byte_time
    short = LINK.overhead + 4_000 * LINK.byte_time

    def collectives(late):
        starts = np.array([0.0, late, 0.0, 0.0])
        return [Collective(schedule=schedule, numel=10_000, starts=starts)]

    assert simulate_in_order(collectives(port), topology) is not None
    early = collectives(1e-6)
    assert simulate_in_order(early, topology) is None
    outcome = simulate(early, topology)
    assert_same(outcome, simulate_by_events(early, topology))
    assert outcome.finishes[0, 3] == pytest.approx(1e-6 + short + LINK.latency + LINK.overhead)


def test_where_messages_take_no_time_the_order_of_ties_is_left_to_events(round_of):
    # both are ready at rank 3 at 0: that of round 2 at once, that of round 1 because of round 0's
    schedule = Schedule(
        world=4,
        num_chunks=3,
        rounds=[
            round_of((0, 1, 0, 1, 0)),
            round_of((1, 3, 0, 2, 1)),
            round_of((2, 3, 0, 1, 1), (3, 0, 0, 1, 1)),
        ],
    )
    link = Link(latency=0.0, overhead=0.0, byte_time=0.0, reduce_time=1e-9)
    collectives, topology = [Collective(schedule=schedule, numel=3000)], Topology.flat(4, link)
    assert simulate_in_order(collectives, topology) is None
    assert_same(simulate(collectives, topology), simulate_by_events(collectives, topology))
