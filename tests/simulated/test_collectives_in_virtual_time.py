"""Collectives in virtual time, against closed forms."""

import numpy as np
import pytest

from psbench.network import Link, Topology
from psbench.schedules import ALGORITHMS, COSTS, Schedule, schedule_for, traffic
from psbench.simulated.collective import Collective, Occupied, simulate

LINK = Link(latency=5e-6, overhead=1e-6, byte_time=1e-9, reduce_time=2e-10)


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


def test_ranks_of_a_host_queue_for_its_card(round_of):
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


def test_a_message_that_waits_for_its_port_lets_another_pass(round_of):
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


def test_an_uplink_that_is_oversubscribed_is_what_binds(round_of):
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


def test_what_an_earlier_call_left_busy_delays_a_later_one(round_of):
    # a long message to rank 1; rank 2, which has no part in it, sends rank 1 one of the next step
    topology = Topology.flat(3, LINK)

    def step(src, numel, occupied):
        schedule = Schedule(world=3, num_chunks=1, rounds=[round_of((src, 1, 0, 1, 1))])
        return simulate([Collective(schedule=schedule, numel=numel)], topology, occupied=occupied)

    first = step(0, 250_000, None)
    port = LINK.overhead + 1_000_000 * LINK.byte_time
    arrives = LINK.overhead + LINK.latency
    added = arrives + port + 1_000_000 * LINK.reduce_time
    np.testing.assert_allclose(first.occupied.ports, [[port, 0, 0], [0, arrives + port, 0]])
    np.testing.assert_allclose(first.occupied.adders, [0, added, 0])
    second = step(2, 250, first.occupied)
    short = LINK.overhead + 1000 * LINK.byte_time
    assert second.finishes[0, 2] == pytest.approx(short)
    # it is received behind the first, and added when that is
    assert second.occupied.ports[1, 1] == pytest.approx(arrives + port + short)
    assert second.finishes[0, 1] == pytest.approx(added + 1000 * LINK.reduce_time)
    assert second.occupied.ports[0].tolist() == [port, 0.0, second.finishes[0, 2]]


@pytest.mark.parametrize("in_turn", [True, False])
def test_a_resource_that_is_busy_at_first_holds_nothing_up_for_ever(in_turn):
    # each kind alone, of both sides: whichever it is, all begin when it is free
    schedule = schedule_for("direct", 4)
    topology = Topology(hosts=(0, 0, 1, 1), between=LINK, hosts_per_group=1)
    collectives = [Collective(schedule=schedule, numel=1000)]
    alone = simulate(collectives, topology, in_turn=in_turn)
    for name in ("ports", "cards", "uplinks"):
        for side in range(2):
            occupied = Occupied.nothing(topology)
            getattr(occupied, name)[side] = 1.0
            late = simulate(collectives, topology, in_turn=in_turn, occupied=occupied)
            assert 1.0 < late.finish < 1.0 + 2 * alone.finish
            assert (getattr(occupied, name)[side] == 1.0).all()  # it is not written to


@pytest.mark.parametrize("name", ["ring", "halving_doubling"])
def test_steps_simulated_by_themselves_are_those_simulated_together(name):
    world, steps = 8, 5
    schedule, topology = schedule_for(name, world), Topology.flat(world, LINK)
    computing = np.random.default_rng(0).uniform(0.0, 3e-6, (steps, world))
    together = simulate(
        [
            Collective(schedule=schedule, numel=1031, starts=own * step)
            for step, own in enumerate(computing)
        ],
        topology,
    )
    finishes, occupied = np.zeros(world), None
    for step, own in enumerate(computing):
        starts = np.maximum(finishes, own * step)
        collective = Collective(schedule=schedule, numel=1031, starts=starts)
        outcome = simulate([collective], topology, occupied=occupied)
        finishes, occupied = outcome.finishes[0], outcome.occupied
        assert finishes.tolist() == together.finishes[step].tolist()


@pytest.mark.parametrize("numel", [0, 1])
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_nothing_takes_no_time_and_one_element_is_one_message_a_hop(name, numel):
    options = {"ranks_per_host": 2} if name.startswith("hierarchical") else {}
    schedule = schedule_for(name, 3, **options)
    outcome = simulate([Collective(schedule=schedule, numel=numel)], Topology.flat(3, LINK))
    assert (outcome.finish > 0) == (numel > 0)
    assert (outcome.busiest is None) == (numel == 0)
