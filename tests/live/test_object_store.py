"""Ray's object store as a transport: exact sums, actors that fail, and nothing left behind."""

import math
import os
import signal
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import ray
import torch

from psbench.errors import Mismatch, PeerLost, PeerTimeout, TransportError
from psbench.live.collective import collective_for
from psbench.live.counters import Counters
from psbench.live.engine import LiveEngine
from psbench.live.headers import Header
from psbench.live.transports.object_store import ObjectStoreEndpoint, arrivals
from psbench.results import TrialRow
from psbench.schedules import ALGORITHMS, execute, schedule_for, traffic
from psbench.spec import Spec, Trial, cell_id
from psbench.training import reference

STORED = 40_000  # float64 elements: 320 kB, which no call carries within it


def sum_up(transport, schedule, vector, step=0):
    """Run one collective; return what was counted."""
    counters = Counters()
    header = Header.describing(vector, generation=1, step=step)
    collective_for(transport, schedule, numel=len(vector)).run(vector, header, counters)
    return counters


def stored():
    """The bytes in use in the object store, as Ray's raylet last said."""
    whole = ray.cluster_resources()["object_store_memory"]
    return whole - ray.available_resources().get("object_store_memory", 0.0)


def settles(least, most):
    """Whether the store comes to hold so many bytes, within some seconds: Ray says so rarely."""
    until = time.monotonic() + 15
    while not least <= stored() <= most and time.monotonic() < until:
        time.sleep(0.05)
    return least <= stored() <= most


def nothing_stored():
    """Whether the store empties, after it was seen to hold what is put there."""
    kept = ray.put(np.zeros(2**20, dtype=np.uint8))
    seen = settles(2**20, math.inf)
    del kept
    return seen and settles(0, 0)


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_sums_are_exact_and_bytes_are_those_of_the_schedule(world, connect, everywhere):
    lengths = [0, world - 1, 1009, 5 * STORED]  # parts of the last are stored, too
    given = np.random.default_rng(world).integers(-99, 99, (world, max(lengths)))
    schedules = {name: schedule_for(name, world) for name in ALGORITHMS}

    def all_of_them(transport):
        wrong, counted = [], {}
        for name, schedule in schedules.items():
            for numel in lengths:
                vector = torch.from_numpy(given[transport.rank, :numel].copy())
                counted[name, numel] = sum_up(transport, schedule, vector)
                if vector.tolist() != given[:, :numel].sum(axis=0).tolist():
                    wrong.append((name, numel))
        return wrong, counted

    for rank, (wrong, counted) in enumerate(
        everywhere(connect(world, "object_store"), all_of_them)
    ):
        assert wrong == []
        for (name, numel), counters in counted.items():
            moved = traffic(schedules[name], numel, itemsize=8)
            assert counters.bytes_sent == moved.bytes_sent[rank]
            assert counters.messages_received == moved.messages_received[rank]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bit_for_bit_as_in_one_process(dtype, connect, everywhere):
    schedule = ALGORITHMS["ring"](3, 6)
    generator = torch.Generator().manual_seed(3)
    inputs = [torch.randn(1009, generator=generator).to(dtype) for _ in range(3)]

    def live(transport):
        vector = inputs[transport.rank].clone()
        sum_up(transport, schedule, vector)
        return vector.view(torch.uint8).numpy()

    sums = everywhere(connect(3, "object_store"), live)
    assert sums[0].tobytes() == sums[1].tobytes() == sums[2].tobytes()
    if dtype is torch.float32:  # numpy has no bfloat16
        assert sums[0].tobytes() == execute(schedule, [v.numpy() for v in inputs])[0].tobytes()


def test_a_message_of_another_length_is_named_with_both_sizes_by_all(connect, everywhere):
    def disagree(transport):
        channel = transport.channel(0)
        if transport.rank == 1:
            channel.exchange([(0, torch.zeros(3))], []).synchronize()
        try:
            channel.exchange([], [(1 - min(transport.rank, 1), torch.zeros(2))]).synchronize()
        except TransportError as error:
            return type(error), str(error)

    said = everywhere(connect(3, "object_store"), disagree)
    assert said == [(Mismatch, "rank 1 sends 12 bytes where 8 are expected")] * 3


def strike(number, transports, everywhere):
    """Have rank 2 send itself a signal in the midst of a collective -> what the others raised, how
    long they had waited by then, and what became of rank 2's call."""
    schedule = ALGORITHMS["ring"](3)

    def add_up(transport):
        vector = torch.ones(STORED)
        for step in range(20):
            began = time.monotonic()
            try:
                sum_up(transport, schedule, vector, step)
            except TransportError as error:
                return type(error), str(error), time.monotonic() - began
        return None

    def fall(transport):
        channel, rounds = transport.channel(0), []
        exchange = channel.exchange

        def exchange_or_fall(sends, receives):
            rounds.append(len(sends))
            if len(rounds) == 5 * 5 + 3:  # headers and four rounds make a collective
                os.kill(os.getpid(), number)
            return exchange(sends, receives)

        channel.exchange = exchange_or_fall
        add_up(transport)

    pid = ray.get(transports[2].node.host.remote()).pid
    with ThreadPoolExecutor(1) as pool:
        fallen = pool.submit(everywhere, transports[2:], fall)
        said = everywhere(transports[:2], add_up)
        if number == signal.SIGSTOP:
            os.kill(pid, signal.SIGKILL)
        return said, fallen.exception(timeout=30)


def test_a_killed_actor_is_lost_within_two_seconds_and_by_name(connect, everywhere):
    said, fallen = strike(signal.SIGKILL, connect(3, "object_store"), everywhere)
    assert isinstance(fallen, ray.exceptions.RayActorError)
    for kind, text, seconds in said:
        assert (kind, text) == (PeerLost, "rank 2 is gone")
        assert seconds < 2
    assert nothing_stored()


def test_a_stopped_actor_is_named_at_the_deadline(connect, everywhere):
    said, _ = strike(signal.SIGSTOP, connect(3, "object_store", deadline=2.0), everywhere)
    for kind, text, seconds in said:
        assert kind is PeerTimeout
        assert text.startswith("rank 2 did not come within 2 s")
        assert 2 <= seconds < 4
    assert nothing_stored()


def test_who_is_sent_to_after_it_left_is_lost(connect, everywhere):
    def leave_or_talk(transport):
        channel = transport.channel(0)
        if transport.rank == 1:
            transport.close()
            return
        channel.exchange([], [(1, torch.zeros(1))]).synchronize()

    with pytest.raises(PeerLost, match="rank 1 has left this world"):
        everywhere(connect(2, "object_store"), leave_or_talk)


@pytest.mark.usefixtures("nodes")
def test_only_actors_can_be_reached():
    with pytest.raises(TransportError, match="this process is none"):
        ObjectStoreEndpoint("127.0.0.1")


def test_what_comes_after_the_end_is_turned_away():
    box, payload = arrivals.open_endpoint("here"), np.zeros(3, dtype=np.uint8)
    assert arrivals.deliver("here", (0, 1, 0), payload)
    assert arrivals.deliver("here", None, None), "somebody asks whether we are there"
    assert box.await_any([(0, 1, 1), (0, 1, 0)], 0.0) == (0, 1, 0)
    assert box.pop((0, 1, 0)) is payload
    assert box.await_any([(0, 1, 0)], 0.0) is None
    arrivals.close_endpoint("here")
    assert not arrivals.deliver("here", (0, 1, 1), payload)
    with pytest.raises(TransportError, match="closed"):
        box.await_any([(0, 1, 1)], 0.0)


def test_who_waits_is_told_that_another_failed_and_what_came_is_let_go():
    box, payload = arrivals.open_endpoint("there"), np.zeros(3, dtype=np.uint8)
    arrivals.deliver("there", (0, 2, 0), payload)
    kept = weakref.ref(payload)
    del payload
    assert kept() is not None
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(box.await_any, [(0, 1, 0)], 30.0)
        assert arrivals.deliver("there", None, PeerLost("rank 7 is gone"))
        with pytest.raises(PeerLost, match="rank 7 is gone"):
            waiting.result(timeout=10)
    assert kept() is None
    arrivals.close_endpoint("there")


# through the engine


def make_cell(strategy, workers=2, *, task=None, **fields):
    learned = {} if task else {"batch": {"global": 32}}
    model = {
        "model": "digits_mlp",
        "dtype": "float64",
        "optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
    }
    spec = Spec(
        name="store",
        task=task or model,
        strategy=strategy,
        workers=workers,
        transport="object_store",
        **learned | {"steps": 12} | fields,
    )
    return spec.cells()[0]


@pytest.fixture(scope="module")
def engine(nodes):
    with LiveEngine([make_cell("ps-sync", workers=2)]) as made:
        yield made


def summary_of(engine, cell, during=lambda rows: None):
    """Run one trial; `during` is told of each batch of its steps -> its summary."""
    for output in engine.run(
        Trial(cell=cell, repeat=0, seed=0), cell_id=cell_id(cell), attempt=1, stop=lambda: False
    ):
        if isinstance(output, list):
            during(output)
    assert isinstance(output, TrialRow)
    return output


def parameters(engine, cell):
    """What each process of the last trial, of this cell, ended with, the loss left out."""
    members = engine._pool_for(cell).take(workers=cell.workers, servers=cell.servers)
    vectors = ray.get([member.actor.parameters.remote() for member in members], timeout=30)
    return [torch.from_numpy(vector[:9610].copy()) for vector in vectors]


@pytest.mark.parametrize(
    ("strategy", "workers"), [("ring", 3), ("tree", 2), ("ps-sync", 2), ("ps-async", 1)]
)
def test_float64_equals_the_single_process_run(strategy, workers, engine):
    cell = make_cell(strategy, workers)
    summary = summary_of(engine, cell)
    assert (summary.status, summary.transport) == ("ok", "object_store")
    *_, last = reference(cell, seed=0, repeat=0)
    for vector in parameters(engine, cell):
        distance = torch.linalg.norm(vector - last.parameters) / torch.linalg.norm(last.parameters)
        assert distance <= 1e-10


def test_no_push_is_lost(engine):
    cell = make_cell("ps-async", 2, steps=20)
    summary = summary_of(engine, cell)
    assert summary.pushes_sent == summary.pushes_acknowledged == summary.pushes_applied >= 40


@pytest.mark.parametrize("strategy", ["ring", "ps-async"])
def test_nothing_is_left_in_the_store(strategy, engine):
    cell = make_cell(strategy, task={"payload": "4 MB"})
    summary = summary_of(engine, cell)
    assert summary.status == "ok", summary.error
    assert nothing_stored()


def test_nothing_is_left_in_the_store_after_a_trial_that_failed(engine):
    struck = []

    def strike_once(rows):
        if rows and not struck:
            struck.append(engine._pool._actors[1][1].pid)
            os.kill(struck[0], signal.SIGKILL)

    cell = make_cell("ps-async", steps=100_000, task={"payload": "4 MB"})
    summary = summary_of(engine, cell, strike_once)
    assert summary.status == "failed"
    assert summary.error.startswith("rank 1 (pid ")
    assert nothing_stored()
