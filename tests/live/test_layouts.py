"""Hosts, cores, threads, time limits and the bare loop, on a real, embedded Ray."""

import os

import numpy as np
import pytest
import ray

from psbench.live.cores import share_out
from psbench.live.engine import LiveEngine
from psbench.live.host import Host
from psbench.results import EvalRow, TrialRow
from psbench.spec import Spec, Trial, cell_id
from psbench.training import reference

TASK = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
CORES = sorted(os.sched_getaffinity(0))


def make_cell(strategy, workers, **fields):
    fields = {"task": TASK, "batch": {"per_worker": 8}, "steps": 8, **fields}
    (cell,) = Spec(name="layouts", strategy=strategy, workers=workers, **fields).cells()
    return cell


LARGEST = make_cell("ring", 4)
HOSTS = make_cell("ps-sync", 3, cluster={"ranks_per_host": 2})
TWO_THREADS = make_cell("none", 1, cluster={"cpus_per_worker": 2})
COLOCATED = make_cell(
    {"kind": "parameter_server", "consistency": "synchronous", "placement": "colocated"},
    2,
    cluster={"ranks_per_host": 1},
    eval_every=3,
)
PLACED = [LARGEST, HOSTS, TWO_THREADS, COLOCATED]


@pytest.fixture(scope="module")
def engine():
    with LiveEngine(PLACED) as made:
        yield made


def run(engine, cell):
    trial = Trial(cell=cell, repeat=0, seed=0)
    everything = list(engine.run(trial, cell_id=cell_id(cell), attempt=1, stop=lambda: False))
    rows = [row for batch in everything if isinstance(batch, list) for row in batch]
    evals = [row for row in everything if isinstance(row, EvalRow)]
    assert isinstance(everything[-1], TrialRow)
    return rows, evals, everything[-1]


def members(engine, cell):
    return engine._pool_for(cell).take(workers=cell.workers, servers=cell.servers)


def affinities(engine, cell):
    """The cores that each thread of each process may run on, as the kernel has it."""
    found = []
    for member in members(engine, cell):
        threads = os.listdir(f"/proc/{member.host.pid}/task")
        found.append({frozenset(os.sched_getaffinity(int(thread))) for thread in threads})
    return found


def test_processes_are_held_to_cores_of_their_own_where_there_are_enough(engine):
    cell = make_cell("ring", len(CORES))
    if len(CORES) > LARGEST.workers:
        cell = LARGEST
    _, _, summary = run(engine, cell)
    assert summary.pinned_cores == tuple(str(core) for core in CORES[: cell.workers])
    assert affinities(engine, cell) == [{frozenset({core})} for core in CORES[: cell.workers]]
    free = make_cell("ring", cell.workers, pin=False)
    _, _, summary = run(engine, free)  # the same processes
    assert summary.pinned_cores == ("",) * cell.workers
    assert affinities(engine, free) == [{frozenset(CORES)}] * cell.workers


def host(boot, cores, pid=1):
    return Host(name=boot, pid=pid, started="1", boot=boot, pid_space="p", home=boot, cores=cores)


def test_cores_are_shared_out_in_turn_on_each_machine():
    here, there = host("here", (0, 1, 2, 3)), host("there", (4, 6))
    shares = share_out([here, there, here, there], cores_each=1)
    assert shares == [(0,), (4,), (1,), (6,)]
    assert share_out([here, there, here], cores_each=2) == [(0, 1), (4, 6), (2, 3)]
    # too few there: its processes are left to its scheduler, those here are not
    assert share_out([here, there, there, there], cores_each=1) == [(0,), (), (), ()]
    assert share_out([], cores_each=1) == []


def test_processes_of_a_logical_host_share_a_bundle(engine):
    _, _, summary = run(engine, HOSTS)
    assert summary.status == "ok"
    table = ray.util.placement_group_table(engine._pool._group)
    assert [bundle["CPU"] for _, bundle in sorted(table["bundles"].items())] == [2.0, 1.0, 1.0]
    assert table["strategy"] == "SPREAD"  # one node: the hosts are emulated
    # and back to the plain layout, with actors of its own
    assert run(engine, LARGEST)[2].status == "ok"


def test_colocated_servers_share_the_bundles_of_the_workers(engine, run_trial):
    rows, evals, summary = run(engine, COLOCATED)
    assert summary.status == "ok"
    table = ray.util.placement_group_table(engine._pool._group)
    assert [bundle["CPU"] for _, bundle in sorted(table["bundles"].items())] == [2.0, 2.0]
    assert (summary.pushes_sent, summary.pushes_acknowledged, summary.pushes_applied) == (32,) * 3
    vector = 8 * 4 * (9610 + 1)
    assert summary.bytes_sent[:2] == (vector, vector)
    assert sum(summary.bytes_sent[2:]) == 2 * vector
    # the same as of one server, which has all of the parameters that are evaluated
    plain = run_trial(make_cell("ps-sync", 2, eval_every=3))
    assert {(row.rank, row.step): row.loss for row in rows} == plain.losses()
    learner, points = plain.nodes[-1].learner, plain.nodes[-1].checkpoints
    assert [(row.step, row.samples, (row.loss, row.accuracy)) for row in evals] == [
        (point.step, point.samples, learner.evaluate(point.parameters)) for point in points
    ]
    assert [row.step for row in evals] == [3, 6, 8]


def test_cpus_of_a_worker_are_its_threads_and_what_ray_reserves(engine):
    _, _, summary = run(engine, TWO_THREADS)
    assert (summary.status, summary.threads) == ("ok", 2)
    table = ray.util.placement_group_table(engine._pool._group)
    assert list(table["bundles"].values()) == [{"CPU": 2.0}]
    if len(CORES) >= 2:
        assert summary.pinned_cores == (f"{CORES[0]},{CORES[1]}",)


def test_a_trial_that_takes_too_long_is_ended_and_the_next_one_runs(engine):
    assert run(engine, make_cell("ring", 2))[2].status == "ok"  # whose imports take a while
    endless = make_cell("ring", 2, steps=10_000_000, timeout="3 s", compute={"seconds": "1 ms"})
    rows, _, summary = run(engine, endless)
    assert summary.status == "timed_out"
    assert summary.error.startswith("not finished within 3 s: rank ")
    assert len(rows) > 0
    assert run(engine, make_cell("ring", 2))[2].status == "ok"


def test_peak_memory_is_that_of_the_trial(engine):
    large = make_cell("none", 1, task={"payload": "256 MiB"}, batch=None)
    _, _, summary = run(engine, large)
    (peak,) = summary.peak_memory_bytes
    _, _, summary = run(engine, make_cell("none", 1))  # in the same process
    (later,) = summary.peak_memory_bytes
    # gradients are written; whether parameters are is up to the allocator
    assert 256 * 2**20 <= peak - later < 600 * 2**20


def test_the_bare_loop_learns_what_the_reference_does(engine):
    task = TASK | {"dtype": "float64"}
    cell = make_cell("bare", 1, task=task, steps=12, warmup=2, target={"accuracy": 0.5})
    rows, evals, summary = run(engine, cell)
    assert rows == []
    assert (summary.status, summary.steps, summary.samples) == ("ok", 12, 80)
    assert summary.seconds > 0
    (member,) = members(engine, cell)
    parameters = ray.get(member.actor.parameters.remote(), timeout=30)[:-1]
    expected = list(reference(cell, seed=0, repeat=0))[-1].parameters.numpy()
    np.testing.assert_array_equal(parameters, expected)
    _, others, _ = run(engine, make_cell("none", 1, task=task, steps=12, warmup=2))
    assert (evals[0].step, evals[0].samples) == (12, 96)
    assert evals[0].loss == pytest.approx(others[0].loss, rel=1e-10)
    assert evals[0].accuracy == others[0].accuracy


OWN = """
import os
import torch
from psbench import Data, Task

def build(same: bool) -> Task:
    seed = 0 if same else os.getpid()
    inputs = torch.rand(64, 3, generator=torch.Generator().manual_seed(seed))
    samples = Data(inputs=inputs, targets=inputs.sum(1, keepdim=True))
    return Task(
        model=lambda: torch.nn.Linear(3, 1),
        loss=lambda model, inputs, targets: ((model(inputs) - targets) ** 2).mean(),
        data=lambda: (samples[:48], samples[48:]),
    )
"""


def test_ranks_with_other_samples_than_their_peers_are_found_out(engine, tmp_path, monkeypatch):
    (tmp_path / "own_samples.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)  # the processes follow
    task = {"model": "own_samples:build", "optimizer": {"kind": "sgd", "lr": 0.1}}
    same = make_cell("ps-sync", 2, task=task | {"options": {"same": True}})
    assert run(engine, same)[2].status == "ok"
    other = make_cell("ps-sync", 2, task=task | {"options": {"same": False}})
    _, _, summary = run(engine, other)
    assert summary.status == "failed"
    assert "trains on other data than rank 0" in summary.error
