"""A run that was ended, however and however often, goes on to what it would have been."""

import json
import os
import platform
import random
import resource
import signal
import time
from collections import Counter
from itertools import cycle, islice

import pytest

import psbench
from psbench.results import read_journal

KILLS = int(os.environ.get("PSBENCH_KILLS", "4"))
"""How often the run is killed. From 20 on it has 12 trials, and the test takes minutes."""
REPEATS = 6 if KILLS >= 20 else 2
STEPS, WORKERS = 40, 2
SPEC = f"""
name: sweep
task: {{model: digits_mlp, optimizer: {{kind: sgd, lr: 0.1}}}}
batch: {{per_worker: 16}}
steps: {STEPS}
warmup: 5
eval_every: 20
workers: {WORKERS}
repeats: {REPEATS}
matrix: {{strategy: [ring, ps-sync]}}
"""
ENDLESS = SPEC.replace(f"steps: {STEPS}", "steps: 1000000\ntimeout: 3 min")
PATIENCE = 100.0


def parts(folder):
    return sorted((folder / "journal").glob("*.jsonl"))


def events(folder, kind):
    return [event.message for event in read_journal(folder).events if event.kind == kind]


def until(come, process):
    """Return once `come()` is true, or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not come():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ray_starts(command):
    return any("gcs_server" in line for line in command.processes().values())


MOMENTS = {
    "while Ray starts": (lambda command, part: ray_starts(command), 3.0),
    "in a trial": (lambda command, part: b"trial_started" in part.read_bytes(), 1.0),
    "after a trial": (lambda command, part: b'"type": "trial"' in part.read_bytes(), 0.5),
    "before Ray starts": (lambda command, part: True, 0.5),
}
"""What a process that goes on has come to, and in how many seconds from then on it is killed."""


def resume_and_kill(command, folder, moment, draw):
    come, seconds = MOMENTS[moment]
    known = parts(folder)
    process = command.start("run", "spec.yaml", "--resume", str(folder))
    until(lambda: parts(folder) != known and come(command, parts(folder)[-1]), process)
    time.sleep(draw.uniform(0, seconds))  # any moment will do
    process.kill()
    _, stderr = process.communicate(timeout=PATIENCE)
    # on a busy machine Ray may not start in time, which ends the run before we do
    assert process.returncode == -signal.SIGKILL or "Ray did not start" in stderr, stderr


def check_what_is_there(folder):
    journal = read_journal(folder)
    assert (
        max(Counter((row.cell_id, row.repeat) for row in journal.trials).values(), default=1) == 1
    )
    if (folder / "manifest.json").exists():
        results = psbench.load(folder)
        assert len(results.trials) == len(journal.trials)
        assert results.summary()["num_ok"].sum() == len(journal.trials)
        for frame in (results.evals, results.steps):
            assert (frame.groupby(["cell_id", "repeat"])["attempt"].nunique() == 1).all()
    return len(journal.trials)


def check_finished(folder):
    """Look for what an uninterrupted run leaves, and nothing beside it but higher attempts."""
    results = psbench.load(folder)
    status = json.loads((folder / "status.json").read_text())
    assert (status["status"], status["trials"]) == ("finished", {"ok": 2 * REPEATS})
    assert results.trials["status"].tolist() == ["ok"] * 2 * REPEATS
    assert results.trials["repeat"].tolist() == [*range(REPEATS)] * 2
    assert results.trials["strategy"].tolist() == ["ring"] * REPEATS + ["ps-sync"] * REPEATS
    attempts = results.trials.set_index(["cell_id", "repeat"])["attempt"]
    for frame, rows in ((results.steps, STEPS * WORKERS), (results.evals, 2)):
        trials = frame.groupby(["cell_id", "repeat"])["attempt"]
        assert set(trials.size()) == {rows}
        assert trials.unique().map(list).to_dict() == {key: [n] for key, n in attempts.items()}
    assert not list(folder.glob(".*"))
    return attempts


@pytest.mark.timeout(150 + 60 * KILLS)
def test_a_run_that_is_killed_at_any_moment_goes_on_until_it_is_finished(command, tmp_path):
    command.write(SPEC)
    folder = tmp_path / "run"
    draw = random.Random(KILLS)
    for moment in islice(cycle(MOMENTS), KILLS):
        resume_and_kill(command, folder, moment, draw)
        print(f"killed {moment}: {check_what_is_there(folder)} trials ended")
    done = command.run("run", "spec.yaml", "--resume", "run", "--json")
    assert done.returncode == 0, done.stderr
    attempts = check_finished(folder)
    print(f"then finished; attempts at its {len(attempts)} trials: {dict(Counter(attempts))}")
    assert set(events(folder, "resumed")) <= {
        "the run was killed",
        "the run was killed before its first trial",
    }

    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = command.run("run", "--resume", "run", "--json")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert len(psbench.run(resume=folder).trials) == 2 * REPEATS
    assert command.nothing_left()


def first_steps(command, folder, *arguments):
    """Start a run that would never end; return it once it has written steps."""
    known = set(folder.glob("steps/*"))
    process = command.start("run", *arguments)
    until(
        lambda: any(path.stat().st_size > 10_000 for path in set(folder.glob("steps/*")) - known),
        process,
    )
    assert process.poll() is None, process.communicate()[1]
    return process


def terminate(process):
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, stderr
    assert stderr.splitlines()[-1] == "psbench: interrupted"
    return stderr


def test_sigterm_ends_a_run_that_goes_on_and_a_folder_has_one_writer(command, tmp_path):
    spec = command.write(ENDLESS)
    folder = tmp_path / "run"
    starting = command.start("run", spec, "--resume", "run")
    until(lambda: ray_starts(command), starting)
    assert len(terminate(starting).splitlines()) == 2
    assert not folder.exists(), "it is to be as it was found"

    terminate(first_steps(command, folder, spec, "--resume", "run"))
    assert json.loads((folder / "status.json").read_text())["status"] == "interrupted"
    assert events(folder, "resumed") == []

    process = first_steps(command, folder, "--resume", "run")
    assert not (folder / "status.json").exists()
    assert events(folder, "resumed") == ["the run before ended: interrupted"]
    for arguments in (("--resume", "run"), (spec, "--resume", "run"), (spec, "--out", "run")):
        refused = command.run("run", *arguments)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        writer = f"run is being written by process {process.pid} on {platform.node()}"
        assert writer in refused.stderr
    results = psbench.load(folder)
    assert set(results.steps["attempt"]) == {2}
    assert "not finished" in repr(results)
    terminate(process)
    assert len(list(folder.glob("steps/*-a2.arrow"))) == 1
    other = command.run("run", spec, "--set", "seed=1", "--resume", "run")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "seed is 0 there and 1 here" in other.stderr
    assert command.nothing_left()


def test_a_full_disk_ends_the_run_in_one_line_and_with_room_it_goes_on(command, tmp_path):
    spec = command.write(SPEC.replace(f"steps: {STEPS}", "steps: 3000"))
    folder = tmp_path / "run"
    one = ("--set", "matrix.strategy=[ring]", "--set", "repeats=1")
    process = command.start("run", spec, *one, "--out", "run")
    until(lambda: list(folder.glob("steps/*")) and len(psbench.load(folder).steps), process)
    (rows,) = folder.glob("steps/*.arrow")
    full = rows.stat().st_size
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (full, full))
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    said = stderr.splitlines()[-1]
    assert said.startswith("psbench: error: cannot write run/steps/")
    assert said.endswith("File too large; results need a writable folder with free space")
    assert "Traceback" not in stderr
    assert command.nothing_left()
    assert json.loads((folder / "status.json").read_text())["status"] == "failed"
    assert 0 < len(psbench.load(folder).steps) < 6000
    assert len(psbench.load(folder).trials) == 0

    done = command.run("run", "--resume", "run")
    assert done.returncode == 0, done.stderr
    results = psbench.load(folder)
    assert results.trials[["status", "attempt"]].values.tolist() == [["ok", 2]]
    assert len(results.steps) == 6000
