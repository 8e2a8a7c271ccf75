"""Messages between two nodes against the reference of collectives, whose model is theirs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.network import Link, Topology
from psbench.schedules import Round, Schedule
from psbench.simulated.collective import Collective
from psbench.simulated.collective.reference import simulate_by_events
from psbench.simulated.events import EventQueue, Message, wire_over
from psbench.simulated.events.wire import PortWire, SharedWire

links = st.builds(
    Link,
    latency=st.sampled_from([0.0, 1.0, 2.5]),
    overhead=st.sampled_from([0.0, 0.25, 1.0]),
    byte_time=st.sampled_from([0.0, 0.5, 1.0]),
    reduce_time=st.just(0.0),
)


@st.composite
def topologies(draw):
    hosts = draw(st.lists(st.integers(0, 3), min_size=2, max_size=6))
    names = sorted(set(hosts))
    return Topology(
        hosts=tuple(names.index(host) for host in hosts),
        between=draw(links),
        inside=draw(st.none() | links),
        hosts_per_group=draw(st.none() | st.integers(1, 2)),
        oversubscription=draw(st.sampled_from([1.0, 3.0])),
    )


@given(topologies(), st.data())
def test_messages_take_what_they_take_in_a_round_of_a_schedule(topology, data):
    world = len(topology.hosts)
    pairs = [(src, dst) for src in range(world) for dst in range(world) if src != dst]
    chosen = data.draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True, max_size=12))
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=len(chosen), max_size=len(chosen)))
    ready = data.draw(st.lists(st.integers(0, 9).map(float), min_size=world, max_size=world))
    src, dst = np.array(chosen).T
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    one = Round(
        src=src, dst=dst, start=bounds[:-1], stop=bounds[1:], reduce=np.zeros(len(src), dtype=bool)
    )
    schedule = Schedule(world=world, num_chunks=int(bounds[-1]), rounds=[one])
    collective = Collective(
        schedule=schedule, numel=int(bounds[-1]), itemsize=1, starts=np.array(ready)
    )
    expected = simulate_by_events([collective], topology)

    queue = EventQueue()
    wire = wire_over(topology, queue)
    done = list(ready)

    def come(message):
        done[message.src] = max(done[message.src], message.sent_s)
        done[message.dst] = max(done[message.dst], queue.now)

    for (a, b), nbytes in zip(chosen, sizes, strict=True):
        queue.at(ready[a], wire.send, Message(a, b, nbytes, None, come))
    assert not queue.run()
    assert done == expected.finishes[0].tolist()
    for rank in range(world):
        assert wire.busy(rank) == pytest.approx(tuple(expected.ports[:, rank]), abs=1e-12)


def test_nodes_that_share_nothing_need_no_queues():
    link = Link(latency=1.0, overhead=0.0, byte_time=1.0, reduce_time=0.0)
    alone = Topology.flat(3, link)
    assert isinstance(wire_over(alone, EventQueue()), PortWire)
    shared = Topology(hosts=(0, 0, 1), between=link)
    assert isinstance(wire_over(shared, EventQueue()), SharedWire)


def test_events_of_one_moment_happen_as_they_were_scheduled():
    queue, seen = EventQueue(), []
    queue.at(2.0, seen.append, "second")
    queue.at(1.0, lambda word: queue.after_all_now(seen.append, word), "put off")
    queue.at(1.0, lambda word: queue.at(1.0, seen.append, word), "first")
    assert queue.run(2)
    assert not queue.run()
    assert seen == ["first", "put off", "second"]
    assert (queue.now, queue.happened) == (2.0, 5)
