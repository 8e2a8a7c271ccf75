"""Collectives in virtual time: against closed forms, and every way of simulating against the model
that is slow and obvious."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psbench.network import Link, Topology
from psbench.schedules import ALGORITHMS, COSTS, Round, Schedule, schedule_for, traffic
from psbench.simulated.collective import Collective, simulate
from psbench.simulated.collective.compiled import simulate_compiled
from psbench.simulated.collective.in_order import simulate_in_order
from psbench.simulated.collective.reference import simulate_by_events

LINK = Link(latency=5e-6, overhead=1e-6, byte_time=1e-9, reduce_time=2e-10)
INSIDE = Link(latency=1e-6, overhead=2e-6, byte_time=1e-10, reduce_time=3e-10)
EXAMPLES = int(os.environ.get("PSBENCH_SCHEDULES", "100"))
many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

# ties and near misses are what orders depend on: few moments, and multiples of the link's times
MOMENTS = st.sampled_from([0.0, 1e-6, 2e-6, 6e-6, 2.5e-5])


def round_of(*transfers):
    """Return a round of (src, dst, start, stop, reduce)."""
    columns = zip(*transfers, strict=True) if transfers else [[]] * 5
    src, dst, start, stop, reduce = (np.array(column) for column in columns)
    integers = [own.astype(np.int64) for own in (src, dst, start, stop)]
    names = ("src", "dst", "start", "stop")
    return Round(**dict(zip(names, integers, strict=True)), reduce=reduce.astype(np.bool_))


@st.composite
def rounds(draw, world, num_chunks):
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


@st.composite
def in_flight(draw):
    """Return collectives of one world that are in flight together."""
    world = draw(st.integers(1, 6))
    collectives = []
    for _ in range(draw(st.integers(1, 3))):
        num_chunks = draw(st.integers(1, 5))
        schedule = Schedule(
            world=world,
            num_chunks=num_chunks,
            rounds=draw(st.lists(rounds(world, num_chunks), max_size=4)),
        )
        starts = np.array(draw(st.lists(MOMENTS, min_size=world, max_size=world)))
        collectives.append(
            Collective(schedule=schedule, numel=draw(st.integers(0, 3000)), starts=starts)
        )
    return collectives


@st.composite
def topologies(draw, world):
    per_host = draw(st.integers(1, 3))
    return Topology(
        hosts=tuple(rank // per_host for rank in range(world)),
        between=LINK,
        inside=draw(st.sampled_from([None, INSIDE])),
        hosts_per_group=draw(st.sampled_from([None, 1, 2])),
        oversubscription=draw(st.sampled_from([1.0, 2.0, 3.5])),
    )


def assert_same(outcome, reference):
    """Moments are equal to the bit; sums of what was busy are, but for their order."""
    assert np.array_equal(outcome.starts, reference.starts)
    assert np.array_equal(outcome.finishes, reference.finishes)
    for name in ("ports", "cards", "uplinks", "adding"):
        np.testing.assert_allclose(
            getattr(outcome, name), getattr(reference, name), rtol=1e-12, err_msg=name
        )


@many
@given(collectives=in_flight(), in_turn=st.booleans(), data=st.data())
def test_compiled_events_are_the_model_to_the_bit(collectives, in_turn, data):
    topology = data.draw(topologies(collectives[0].schedule.world))
    reference = simulate_by_events(collectives, topology, in_turn=in_turn)
    assert_same(simulate_compiled(collectives, topology, in_turn=in_turn), reference)
    assert_same(simulate(collectives, topology, in_turn=in_turn), reference)


@many
@given(collectives=in_flight())
def test_serving_in_order_is_the_model_to_the_bit_or_is_not_done(collectives):
    topology = Topology.flat(collectives[0].schedule.world, LINK)
    outcome = simulate_in_order(collectives, topology)
    if outcome is not None:
        assert_same(outcome, simulate_by_events(collectives, topology))


def test_an_order_that_depends_on_timing_is_seen():
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


@pytest.mark.parametrize("chunks_each", [1, 3])
@pytest.mark.parametrize("world", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize(
    "name", ["ring", "recursive_doubling", "halving_doubling", "direct", "star"]
)
def test_times_are_those_of_the_closed_forms(name, world, chunks_each):
    chunks = schedule_for(name, world).num_chunks * chunks_each
    numel = 3 * 1024 * chunks
    schedule = schedule_for(name, world, chunks)
    outcome = simulate([Collective(schedule=schedule, numel=numel)], Topology.flat(world, LINK))
    expected = COSTS[name](world, numel * 4, num_chunks=chunks, **LINK.costs())
    assert outcome.finish == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("chunks", [1, 4, 16])
@pytest.mark.parametrize("height", [1, 2, 3, 5])
def test_a_pipelined_binary_tree_takes_what_it_should(height, chunks):
    world, numel = 2 ** (height + 1) - 1, 1024 * chunks
    link = Link(latency=5e-6, overhead=1e-6, byte_time=1e-9, reduce_time=0.0)
    schedule = schedule_for("tree", world, chunks)
    outcome = simulate([Collective(schedule=schedule, numel=numel)], Topology.flat(world, link))
    port = link.overhead + 4 * numel / chunks * link.byte_time
    expected = 4 * (height + chunks - 1) * port + 2 * height * (link.latency + link.overhead)
    assert outcome.finish == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", list(ALGORITHMS))
@pytest.mark.parametrize(("world", "per_host"), [(1, 1), (2, 2), (3, 1), (5, 2), (7, 3), (8, 4)])
def test_what_is_busy_is_the_traffic(name, world, per_host):
    options = {"ranks_per_host": per_host} if name.startswith("hierarchical") else {}
    schedule, numel = schedule_for(name, world, **options), 1031
    topology = Topology(hosts=tuple(rank // per_host for rank in range(world)), between=LINK)
    outcome = simulate([Collective(schedule=schedule, numel=numel)], topology)
    moved = traffic(schedule, numel)
    for side, (messages, nbytes) in enumerate(
        [(moved.messages_sent, moved.bytes_sent), (moved.messages_received, moved.bytes_received)]
    ):
        port = messages * LINK.overhead + nbytes * LINK.byte_time
        np.testing.assert_allclose(outcome.ports[side], port, rtol=1e-9)


def test_ranks_of_a_host_queue_for_its_card():
    # two pairs, each rank of host 0 sends to one of host 1: bytes follow one another on the card
    topology = Topology(hosts=(0, 0, 1, 1), between=LINK)
    schedule = Schedule(world=4, num_chunks=1, rounds=[round_of((0, 2, 0, 1, 0), (1, 3, 0, 1, 0))])
    outcome = simulate([Collective(schedule=schedule, numel=250_000)], topology)
    seconds = 1_000_000 * LINK.byte_time
    alone = LINK.latency + 2 * LINK.overhead + seconds
    assert outcome.finishes[0, 2] == pytest.approx(alone)
    assert outcome.finishes[0, 3] == pytest.approx(alone + seconds)
    assert outcome.cards[:, :].tolist() == [[2 * seconds, 0.0], [0.0, 2 * seconds]]
    busiest = outcome.busiest
    assert (busiest.resource, busiest.direction, busiest.index) == ("card", "out", 0)
    assert busiest.share == pytest.approx(2 * seconds / (alone + seconds))


def test_a_message_that_waits_for_its_port_lets_another_pass():
    # rank 2 is taken up by rank 1's long message; rank 0's to rank 2 waits in the network, and its
    # next one, to rank 3, goes on its way meanwhile
    schedule = Schedule(
        world=4,
        num_chunks=100,
        rounds=[round_of((1, 2, 0, 100, 0), (0, 2, 0, 1, 0), (0, 3, 0, 1, 0))],
    )
    outcome = simulate([Collective(schedule=schedule, numel=25_000)], Topology.flat(4, LINK))
    short = LINK.overhead + 1000 * LINK.byte_time
    assert outcome.finishes[0, 3] == pytest.approx(2 * short + LINK.latency + LINK.overhead)
    assert outcome.finishes[0, 0] == pytest.approx(2 * short)
    assert outcome.finishes[0, 2] > 25_000 * 4 * LINK.byte_time


def test_an_uplink_that_is_oversubscribed_is_what_binds():
    # 2 groups of 2 hosts; both hosts of the first send to the second
    schedule = Schedule(world=4, num_chunks=1, rounds=[round_of((0, 2, 0, 1, 0), (1, 3, 0, 1, 0))])
    seconds = 4_000_000 * LINK.byte_time

    def lasts(oversubscription):
        topology = Topology(
            hosts=(0, 1, 2, 3),
            between=LINK,
            hosts_per_group=2,
            oversubscription=oversubscription,
        )
        return simulate([Collective(schedule=schedule, numel=1_000_000)], topology)

    fixed = LINK.latency + 2 * LINK.overhead
    assert lasts(4.0).finish == pytest.approx(fixed + 3 * seconds)  # 2 seconds each on the uplink
    assert lasts(4.0).uplinks[0].tolist() == [4 * seconds, 0.0]
    assert lasts(4.0).busiest.resource == "uplink"
    assert lasts(1.0).finish == pytest.approx(fixed + 1.5 * seconds)


def test_a_rank_begins_a_bucket_when_it_is_done_with_the_one_before_and_ready():
    schedule = schedule_for("ring", 2)
    first = Collective(schedule=schedule, numel=1000)
    late = np.array([1.0, 0.0])
    second = Collective(schedule=schedule, numel=1000, starts=late)
    outcome = simulate([first, second], Topology.flat(2, LINK))
    assert outcome.starts[1].tolist() == [1.0, outcome.finishes[0, 1]]
    assert outcome.waits[1].tolist() == [0.0, 1.0 - outcome.finishes[0, 1]]
    together = simulate([first, first], Topology.flat(2, LINK), in_turn=False)
    assert (together.starts == 0.0).all()
    assert together.finish < 2 * outcome.finishes[0].max()


@pytest.mark.parametrize("numel", [0, 1])
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_nothing_takes_no_time_and_one_element_is_one_message_a_hop(name, numel):
    options = {"ranks_per_host": 2} if name.startswith("hierarchical") else {}
    schedule = schedule_for(name, 3, **options)
    outcome = simulate([Collective(schedule=schedule, numel=numel)], Topology.flat(3, LINK))
    assert (outcome.finish > 0) == (numel > 0)
    assert (outcome.busiest is None) == (numel == 0)
