"""Synchronous servers a step at once against the same event by event."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psbench.simulated.run_trial import vectors_of
from psbench.simulated.served import ServedByEvents, ServedInStep, served
from psbench.spec import Cell, Trial
from psbench.trial import Plan

NETWORK = {"bandwidth": "1 Gbit/s", "latency": "20 us", "overhead": "3 us"}


def plan(workers, servers, **fields):
    base = {
        "task": {"payload": "4000 B"},
        "steps": 4,
        "warmup": 1,
        "engine": "simulated",
        "network": NETWORK | {"reduce_bandwidth": "1 GB/s"},
    }
    strategy = {"kind": "parameter_server", "consistency": "synchronous", "servers": servers}
    strategy |= fields.pop("strategy", {})
    cell = Cell(**base | fields, workers=workers, strategy=strategy)
    return Plan(trial=Trial(cell=cell, repeat=0, seed=1))


def came_to(simulation):
    rows = [row for some in simulation.run() for row in some]
    return sorted(rows, key=lambda row: (row.step, row.rank)), simulation.ending()


@settings(deadline=None)
@given(
    workers=st.integers(1, 7),
    servers=st.integers(1, 7),
    payload=st.sampled_from([0, 4, 20, 4000, 400_000]),
    compute=st.sampled_from([None, {"seconds": "1 ms"}, {"seconds": "1 ms", "jitter": 0.5}]),
    warmup=st.sampled_from([0, 1, 2]),
    reduce=st.sampled_from(["1 GB/s", "1 MB/s"]),
)
def test_a_step_at_once_is_what_events_come_to(workers, servers, payload, compute, warmup, reduce):
    one = plan(
        workers,
        servers,
        task={"payload": f"{payload} B"},
        compute=compute,
        warmup=warmup,
        network=NETWORK | {"reduce_bandwidth": reduce},
    )
    vectors, topology = vectors_of(one.trial), one.topology()
    rows, ending = came_to(ServedInStep(one, vectors, topology))
    expected, reached = came_to(ServedByEvents(one, vectors, topology))
    assert [row._replace(loss=0, queue_s=0) for row in rows] == [
        row._replace(loss=0, queue_s=0) for row in expected
    ]
    for name in ("server_receiving_s", "server_applying_s", "server_sending_s"):
        assert ending.fields.pop(name) == pytest.approx(reached.fields.pop(name), rel=1e-9)
    assert ending.seconds == pytest.approx(reached.seconds, rel=1e-12)
    assert dataclasses.replace(ending, seconds=0) == dataclasses.replace(reached, seconds=0)


@pytest.mark.parametrize(
    ("fields", "simulation"),
    [
        ({}, ServedInStep),
        ({"strategy": {"backup": 1}}, ServedByEvents),
        ({"strategy": {"consistency": "asynchronous"}}, ServedByEvents),
        ({"strategy": {"bucket": "1024 B", "overlap": True}}, ServedByEvents),
        ({"strategy": {"placement": "colocated"}}, ServedByEvents),
        ({"cluster": {"ranks_per_host": 2}}, ServedByEvents),
        ({"network": NETWORK | {"hosts_per_group": 2}}, ServedByEvents),
    ],
)
def test_what_does_not_go_in_step_goes_by_events(fields, simulation):
    one = plan(4, 4, **dict(fields))
    assert type(served(one, vectors_of(one.trial), one.topology())) is simulation
