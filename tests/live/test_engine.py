"""The live engine on a real, embedded Ray: rows, reuse of actors, and processes that fail."""

import dataclasses
import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import ray

from psbench.live import watch
from psbench.live.engine import LiveEngine
from psbench.live.watch import Drains
from psbench.results import EvalRow, TrialRow
from psbench.schedules import ALGORITHMS, traffic
from psbench.spec import Spec, Trial, cell_id

WORKERS = 3


def make_cell(strategy, workers=WORKERS, *, steps=12, lr=0.1, **fields):
    spec = Spec(
        name="engine",
        task={"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": lr, "momentum": 0.9}},
        batch={"global": 32},
        steps=steps,
        strategy=strategy,
        workers=workers,
        **fields,
    )
    return spec.cells()[0]


@pytest.fixture(scope="module")
def engine():
    with LiveEngine([make_cell("ps-sync", workers=5)]) as made:
        yield made


def never():
    return False


def outputs(engine, cell, *, seed=0, repeat=0):
    """Run one trial -> (step rows, evaluations, summary)."""
    trial = Trial(cell=cell, repeat=repeat, seed=seed)
    everything = list(engine.run(trial, cell_id=cell_id(cell), attempt=1, stop=never))
    rows = [row for batch in everything if isinstance(batch, list) for row in batch]
    evals = [row for row in everything if isinstance(row, EvalRow)]
    assert [type(row) for row in everything if isinstance(row, TrialRow)] == [TrialRow]
    assert isinstance(everything[-1], TrialRow)
    return rows, evals, everything[-1]


def final_parameters(engine, cell):
    """The flat parameters that each process of the last trial, of this cell, ended with."""
    members = engine._pool_for(cell).take(workers=cell.workers, servers=cell.servers)
    return ray.get([member.actor.parameters.remote() for member in members], timeout=30)


@pytest.mark.parametrize("strategy", ["ring", "tree"])
def test_bytes_of_a_live_run_are_those_of_the_schedule(engine, strategy):
    cell = make_cell(strategy, workers=5)
    rows, _, summary = outputs(engine, cell)
    assert summary.status == "ok"
    assert summary.error is None
    assert summary.transport == "shared_memory"
    moved = traffic(ALGORITHMS[strategy](5), 9610 + 1, itemsize=4)  # the loss travels too
    assert summary.bytes_sent == tuple((cell.steps * moved.bytes_sent).tolist())
    assert summary.bytes_received == tuple((cell.steps * moved.bytes_received).tolist())
    assert summary.messages_sent == tuple((cell.steps * moved.messages_sent).tolist())
    assert summary.messages_received == tuple((cell.steps * moved.messages_received).tolist())
    assert sorted((row.rank, row.step) for row in rows) == [
        (rank, step) for rank in range(5) for step in range(cell.steps)
    ]
    for row in rows:
        assert row.bytes_sent == moved.bytes_sent[row.rank]
        assert row.begin_s < row.enter_s < row.exit_s < row.end_s
        assert row.compute_s > 0
        assert row.update_s > 0


def test_bytes_of_a_server_are_all_pushes_and_answers(engine):
    cell = make_cell("ps-sync")
    _, _, summary = outputs(engine, cell)
    vector = 4 * (9610 + 1)
    # the pull with which each worker opens is no part of a step
    assert summary.bytes_sent == (12 * vector,) * WORKERS + (WORKERS * 12 * vector,)
    assert summary.bytes_received == summary.bytes_sent
    assert (summary.pushes_sent, summary.pushes_acknowledged, summary.pushes_applied) == (36,) * 3


def test_an_asynchronous_trial_loses_no_push(engine):
    cell = make_cell("ps-async", steps=30, lr=0.001)  # stale gradients make more diverge
    rows, _, summary = outputs(engine, cell)
    assert summary.pushes_sent == summary.pushes_acknowledged == summary.pushes_applied == len(rows)
    assert summary.pushes_applied >= 90
    assert 90 * 10 <= summary.samples <= 90 * 11  # slices of 10, 11 and 11


def test_evaluations(engine):
    cell = make_cell("ring", steps=60, eval_every=25)
    _, evals, summary = outputs(engine, cell)
    assert [(row.step, row.samples) for row in evals] == [(25, 800), (50, 1600), (60, 1920)]
    assert evals[-1].accuracy > 0.8
    assert evals[0].loss > evals[-1].loss
    assert 0 < evals[0].seconds < evals[-1].seconds <= summary.seconds
    assert {(row.cell_id, row.repeat, row.attempt) for row in evals} == {(cell_id(cell), 0, 1)}


@pytest.mark.parametrize("strategy", ["ring", "ps-sync"])
def test_actors_are_used_again_and_the_same_seed_gives_the_same_bits(engine, strategy):
    cell = make_cell(strategy)
    pids, losses, parameters = [], [], []
    for seed in (0, 0, 1):
        rows, _, _ = outputs(engine, cell, seed=seed)
        parameters.append(final_parameters(engine, cell))
        losses.append({(row.rank, row.step): row.loss for row in rows})
        pids.append([member.host.pid for member in engine._pool.take(workers=3, servers=1)])
    assert pids[0] == pids[1] == pids[2]
    assert losses[0] == losses[1] != losses[2]
    for vector in parameters[0][1:]:  # ranks, and the server
        assert vector.tobytes() == parameters[0][0].tobytes()
    assert parameters[0][0].tobytes() == parameters[1][0].tobytes()
    assert not np.array_equal(parameters[0][0], parameters[2][0])


def test_a_run_on_ray_has_the_bits_of_the_same_loops_in_threads(engine, run_trial):
    cell = make_cell("tree")
    outputs(engine, cell)
    on_ray = final_parameters(engine, cell)
    in_threads = run_trial(cell)
    assert in_threads.nodes[0].learner.parameters.numpy().tobytes() == on_ray[0].tobytes()


def test_diverging_is_a_result(engine):
    spec = Spec(
        name="x",
        task={"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 1000.0}},
        batch={"global": 32},
        steps=100,
        strategy="ring",
        workers=2,
    )
    _, _, summary = outputs(engine, spec.cells()[0])
    assert summary.status == "diverged"
    assert 0 < summary.steps < 100


def strike(engine, cell, position, number):
    """Run a trial; once it has steps, send a signal to a process -> (step rows, summary)."""
    rows = []
    for output in engine.run(
        Trial(cell=cell, repeat=0, seed=0), cell_id="x", attempt=1, stop=never
    ):
        if isinstance(output, TrialRow):
            return rows, output
        if output and not rows:
            os.kill(engine._pool._actors[position][1].pid, number)
        rows += output
    raise AssertionError("a trial ends in a summary")


@pytest.mark.parametrize(
    ("strategy", "position", "name"),
    [
        ("ring", 1, "rank 1"),
        ("ps-async", 3, "server 0"),
        (
            {"kind": "parameter_server", "consistency": "synchronous", "servers": 2},
            4,
            "server 1",
        ),
    ],
)
def test_a_killed_process_is_named_and_the_next_trial_runs(engine, strategy, position, name):
    cell = make_cell(strategy, steps=100_000)
    rows, summary = strike(engine, cell, position, signal.SIGKILL)
    assert summary.status == "failed"
    assert summary.error.startswith(f"{name} (pid ")
    assert summary.error.endswith("died")
    assert len(rows) > WORKERS
    assert outputs(engine, make_cell(strategy))[2].status == "ok"


def test_a_process_that_hangs_is_named(engine, monkeypatch):
    monkeypatch.setattr(watch, "_ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(watch, "_PING_SECONDS", 2.0)
    cell = make_cell("tree", steps=100_000)
    _, summary = strike(engine, cell, 2, signal.SIGSTOP)
    assert summary.status == "timed_out"
    assert summary.error.startswith("rank 2 (pid ")
    assert "does not answer" in summary.error
    assert outputs(engine, make_cell("tree"))[2].status == "ok"


def test_a_process_that_hangs_before_a_trial_begins_is_named(engine, monkeypatch):
    assert outputs(engine, make_cell("ring"))[2].status == "ok"
    monkeypatch.setattr(watch, "_ANSWER_SECONDS", 2.0)
    os.kill(engine._pool._actors[1][1].pid, signal.SIGSTOP)
    rows, _, summary = outputs(engine, make_cell("ring"))
    assert (summary.status, rows) == ("timed_out", [])
    assert summary.error.startswith("rank 1 (pid ")
    assert summary.error.endswith("did not answer within 2 s")
    assert outputs(engine, make_cell("ring"))[2].status == "ok"


def test_no_step_is_lost_of_a_process_that_answers_late(engine):
    cell = make_cell("ring", steps=300)
    outputs(engine, make_cell("ring"))
    pid, rows, awake = engine._pool._actors[1][1].pid, [], None
    for output in engine.run(
        Trial(cell=cell, repeat=0, seed=0), cell_id="x", attempt=1, stop=never
    ):
        if isinstance(output, list):
            rows += output
        if rows and awake is None:
            os.kill(pid, signal.SIGSTOP)
            awake = threading.Timer(4.0, os.kill, (pid, signal.SIGCONT))
            awake.start()
    assert output.status == "ok"
    assert sorted((row.rank, row.step) for row in rows) == [
        (rank, step) for rank in range(WORKERS) for step in range(300)
    ]


class Log:
    """An actor that does one thing after another, as one that answers late does."""

    def __init__(self):
        self.rows = []

    def add(self, step, seconds):
        time.sleep(seconds)
        self.rows.append(SimpleNamespace(step=step))

    def drain(self):
        rows, self.rows = self.rows, []
        return rows


def test_what_came_after_a_late_answer_is_asked_for(engine):
    actor = ray.remote(num_cpus=0)(Log).remote()
    member = engine._pool.take(workers=1, servers=0)[0]
    drains = Drains([dataclasses.replace(member, actor=actor)])
    actor.add.remote(0, 2.0)
    assert list(drains.take()) == []  # asked, and not answered within a second
    ray.get(actor.add.remote(1, 0.0), timeout=30)  # the answer was given before this one
    assert [row.step for rows in drains.rest() for row in rows] == [0, 1]
    ray.kill(actor)


def test_stop_ends_a_trial_and_keeps_its_steps(engine):
    cell = make_cell("ring", steps=100_000)
    trial = Trial(cell=cell, repeat=0, seed=0)
    rows = []
    run = engine.run(trial, cell_id="x", attempt=1, stop=lambda: len(rows) > WORKERS)
    with pytest.raises(KeyboardInterrupt):
        rows.extend(row for output in run for row in output)


def test_an_actor_is_never_restarted_by_ray(engine):
    actor = engine._pool.take(workers=1, servers=0)[0].actor
    os.kill(engine._pool._actors[0][1].pid, signal.SIGKILL)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.ping.remote(), timeout=30)
    engine._pool.discard()
