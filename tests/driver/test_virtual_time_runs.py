"""Runs in virtual time from end to end: side by side, interrupted, killed, and gone on with."""

import os
import signal
import time

import pytest

import psbench
from psbench.driver import run

SPEC = """
name: virtual
engine: simulated
network: ethernet-10g
task: {payload: 1 MiB}
compute: {seconds: 20 ms, jitter: 0.3}
steps: 20
warmup: 2
repeats: 2
matrix:
  strategy: [ring, ps-sync, ps-async]
  workers: [1, 4]
"""
LONG = SPEC.replace("steps: 20", "steps: 20000").replace("[ring, ps-sync, ps-async]", "[ps-async]")
WORKER = "psbench.driver.process"


def frames(folder):
    results = psbench.load(folder)
    key = ["cell_id", "repeat"]
    trials = results.trials.sort_values(key, ignore_index=True)
    steps = results.steps.sort_values([*key, "rank", "step"], ignore_index=True)
    return trials, steps


def test_side_by_side_is_one_after_the_other(tmp_path, monkeypatch):
    (tmp_path / "spec.yaml").write_text(SPEC)
    spec = psbench.Spec.load(tmp_path / "spec.yaml")
    together = run(spec, out=tmp_path / "together")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    alone = run(spec, out=tmp_path / "alone")
    for one, other in zip(frames(together), frames(alone), strict=True):
        assert one.equals(other)
    trials, steps = frames(together)
    assert trials["status"].tolist() == ["ok"] * 12
    assert trials["engine"].unique().tolist() == ["simulated"]
    assert steps.groupby(["cell_id", "repeat"]).ngroups == 12


def started(process, command, text):
    """Wait until a run has `text` among its processes' command lines; return their pids."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = [pid for pid, line in command.processes().items() if text in line]
        if len(found) == min(4, len(os.sched_getaffinity(0))):
            return found
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError(f"no process with {text} came up")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_and_goes_on(command, tmp_path, number):
    spec = command.write(LONG)
    process = command.start("run", spec, "--out", "here")
    started(process, command, WORKER)
    time.sleep(1)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert command.nothing_left()
    assert process.returncode == (130 if number != signal.SIGKILL else -signal.SIGKILL)
    assert psbench.load(tmp_path / "here").trials.empty


def test_a_process_that_is_killed_fails_its_trial_alone(command, tmp_path):
    spec = command.write(SPEC.replace("steps: 20", "steps: 2000").replace("[1, 4]", "[8]"))
    process = command.start("run", spec, "--out", "here")
    victim = started(process, command, WORKER)[0]
    time.sleep(1)
    os.kill(victim, signal.SIGKILL)
    _, stderr = process.communicate(timeout=110)
    trials = psbench.load(tmp_path / "here").trials
    failed = trials[trials["status"] == "failed"]
    assert len(trials) == 6
    assert len(failed) == 1, stderr
    assert failed["error"].item().startswith("the process that simulated it ended")
    assert command.nothing_left()


def test_a_trial_that_takes_too_long_is_ended(tmp_path):
    (tmp_path / "spec.yaml").write_text(LONG)
    overrides = ["timeout=100 ms", "repeats=1", "matrix.workers=[4]"]
    spec = psbench.Spec.load(tmp_path / "spec.yaml", overrides)
    trials, _ = frames(run(spec, out=tmp_path / "here"))
    assert trials["status"].tolist() == ["timed_out"]
    assert trials["error"].item() == "the trial took longer than timeout (100 ms)"


def test_one_run_may_have_both_engines(tmp_path):
    text = """
name: both
task: {payload: 64 KiB}
compute: {seconds: 2 ms}
steps: 5
workers: 2
matrix:
  include:
  - {engine: live, strategy: ring}
  - {engine: simulated, network: ethernet-10g, strategy: ring}
"""
    (tmp_path / "spec.yaml").write_text(text)
    trials, steps = frames(run(psbench.Spec.load(tmp_path / "spec.yaml"), out=tmp_path / "here"))
    assert sorted(trials["engine"]) == ["live", "simulated"]
    assert trials["status"].tolist() == ["ok", "ok"]
    counts = steps.groupby("cell_id")[["bytes_sent", "messages_sent"]].sum()
    assert len(counts.drop_duplicates()) == 1


def test_where_ray_runs_its_tasks_simulate(tmp_path, monkeypatch, short_folder):
    import ray

    (tmp_path / "spec.yaml").write_text(SPEC)
    spec = psbench.Spec.load(tmp_path / "spec.yaml", ["repeats=1"])
    alone = run(spec, out=tmp_path / "alone")
    context = ray.init(address="local", num_cpus=2, include_dashboard=False, _temp_dir=short_folder)
    try:
        monkeypatch.setenv("RAY_ADDRESS", context.address_info["gcs_address"])
        by_ray = run(spec, out=tmp_path / "ray")
        assert ray.is_initialized()  # it was there before, and is no run's to end
    finally:
        ray.shutdown()
    for one, other in zip(frames(by_ray), frames(alone), strict=True):
        assert one.equals(other)


def test_a_signal_to_the_whole_group_interrupts_and_fails_no_trial(command, tmp_path):
    spec = command.write(LONG)
    process = command.start("run", spec, "--out", "here")  # in a group of its own
    started(process, command, WORKER)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert command.nothing_left()
    assert psbench.load(tmp_path / "here").trials.empty
