"""`psbench run` from end to end, as a user types it: results, exit codes, and nothing left."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import psbench

SPEC = """
name: small
task: {model: digits_mlp, optimizer: {kind: sgd, lr: 0.1, momentum: 0.9}}
batch: {per_worker: 16}
steps: 40
warmup: 5
eval_every: 20
target: {accuracy: 0.5}
workers: 2
repeats: 2
matrix: {strategy: [ring, ps-async]}
"""
# its end is what a test makes of it, or at the latest this
ENDLESS = SPEC.replace("steps: 40", "steps: 1000000\ntimeout: 3 min")


def only(folder, pattern):
    (found,) = folder.glob(pattern)
    return found


def test_two_runs_at_once_each_leave_results_table_and_pictures(command, tmp_path):
    spec = command.write(SPEC)
    plain = command.start("run", spec)
    as_json = command.start("run", spec, "--json", "--set", "repeats=1", "--out", "here")
    stdout, stderr = plain.communicate(timeout=110)
    assert plain.returncode == 0, stderr
    folder = only(tmp_path, "results/small/*")
    assert stdout.splitlines()[-1] == str(folder.relative_to(tmp_path))
    assert "ps-async" in stdout
    assert sum(": ok" in line for line in stderr.splitlines()) == 4
    for picture in ("convergence.png", "breakdown.png"):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    check_results(folder)

    stdout, stderr = as_json.communicate(timeout=110)
    assert as_json.returncode == 0, stderr
    records = [json.loads(line) for line in stdout.splitlines()]
    assert [record["strategy"] for record in records] == ["ring", "ps-async"]
    assert psbench.load(tmp_path / "here").trials["status"].tolist() == ["ok", "ok"]
    assert command.nothing_left()

    again = command.run("run", spec, "--out", "here")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "here is not empty" in again.stderr


def check_results(folder):
    assert json.loads((folder / "status.json").read_text())["status"] == "finished"
    results = psbench.load(folder)
    assert results.trials["status"].tolist() == ["ok"] * 4
    assert set(results.trials["strategy"]) == {"ring", "ps-async"}
    assert set(results.trials["workers"]) == {2}
    assert sorted(results.trials["repeat"]) == [0, 0, 1, 1]
    assert set(results.trials["transport"]) == {"shared_memory"}
    ring = results.steps[results.steps["strategy"] == "ring"]
    assert len(ring) == 2 * 2 * 40
    assert len(results.evals) == 4 * 2
    assert results.evals["accuracy"].max() > 0.5
    assert results.summary()["num_ok"].tolist() == [2, 2]


def first_steps(command, tmp_path, **options):
    """Start a run that would never end; return it once it has written steps."""
    process = command.start("run", command.write(ENDLESS), **options)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        sizes = [path.stat().st_size for path in tmp_path.glob("results/*/*/steps/*.arrow")]
        if sizes and max(sizes) > 10_000:
            return process
        time.sleep(0.05)
    raise AssertionError(f"no steps were written: {process.communicate()[1]}")


@pytest.mark.parametrize(
    ("number", "to_all"),
    [
        (signal.SIGINT, True),  # as a terminal does
        (signal.SIGTERM, False),  # as schedulers do
        (signal.SIGTERM, True),  # as `timeout` does
    ],
)
def test_a_failed_trial_is_a_row_and_an_interruption_keeps_it(number, to_all, command, tmp_path):
    process = first_steps(command, tmp_path)
    nodes = [pid for pid, line in command.processes().items() if line.startswith("ray::Node")]
    os.kill(nodes[0], signal.SIGKILL)
    line = next(line for line in process.stderr if line.startswith("[1/4]")).strip()
    assert "failed: " in line
    assert line.endswith("died")
    os.killpg(process.pid, number) if to_all else process.send_signal(number)
    _, stderr = process.communicate(timeout=40)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    folder = only(tmp_path, "results/small/*")
    *lines, last = stderr.splitlines()
    assert last == "psbench: interrupted"
    assert f"go on with: psbench run --resume {folder.relative_to(tmp_path)}" in lines
    assert json.loads((folder / "status.json").read_text())["status"] == "interrupted"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["spec"]["steps"] == 1_000_000
    assert manifest["environment"]["copy_limit"]["one"] > 1e8
    results = psbench.load(folder)
    assert results.trials["status"].tolist() == ["failed"]
    assert results.trials["error"][0].endswith("died")
    assert command.nothing_left()


def test_a_killed_run_leaves_no_process_and_can_be_read(command, tmp_path):
    process = first_steps(command, tmp_path)
    folders = {pid: line for pid, line in command.processes().items() if "reaper.py" in line}
    (line,) = folders.values()
    ray_folder = Path(line.split("\0")[-3])
    assert ray_folder.is_dir()
    process.kill()
    process.communicate(timeout=60)
    assert command.nothing_left()
    assert not ray_folder.exists()
    folder = only(tmp_path, "results/small/*")
    assert not (folder / "status.json").exists()
    assert len(psbench.load(folder).trials) == 0


def test_a_run_joins_the_cluster_of_ray_address_and_is_held_to_it(command, short_folder, tmp_path):
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
    head = subprocess.Popen(
        [
            Path(sys.executable).parent / "ray",
            "start",
            "--head",
            "--block",
            "--port=0",
            "--num-cpus=2",
            "--include-dashboard=false",
            f"--temp-dir={short_folder}",
        ],
        env={**os.environ, **token, "PSBENCH_TEST": command.mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        address = next(line.split("'")[1] for line in head.stdout if "--address=" in line)
        spec = command.write(SPEC)
        refused = command.run("run", spec, "--set", "workers=4", RAY_ADDRESS=address, **token)
        assert refused.returncode == 2, refused.stderr
        assert "needs 5 CPUs" in refused.stderr
        assert "has 2" in refused.stderr
        assert not list(tmp_path.glob("results/small/*"))
        one = "matrix.strategy=[ring]"
        done = command.run(
            "run", spec, "--set", one, "--set", "repeats=1", RAY_ADDRESS=address, **token
        )
        assert done.returncode == 0, done.stderr
        assert head.poll() is None, "the cluster is not ours to end"
    finally:
        head.send_signal(signal.SIGTERM)
        head.communicate(timeout=30)


@pytest.mark.parametrize(
    ("spec", "arguments", "said"),
    [
        (SPEC.replace("workers: 2", "worker: 2"), (), "spec.yaml:9: unknown field 'worker'"),
        (SPEC.replace("steps: 40", "steps: many"), (), "spec.yaml:5: steps: "),
        (SPEC.replace("[ring,", "[rign,"), (), "did you mean 'ring'?"),
        (SPEC.replace("workers: 2", "workers: 0"), (), "spec.yaml:9: workers: "),
        (SPEC.replace("steps: 40", "steps: -1"), (), "spec.yaml:5: steps: "),
        (SPEC + "steps: 3\n", (), "spec.yaml:12: "),
        (SPEC, ("--set", "workers=two"), "--set workers=two: "),
    ],
)
def test_bad_input_is_one_line_and_starts_nothing(command, tmp_path, spec, arguments, said):
    done = command.run("run", command.write(spec), *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("option", ["--out", "--resume"])
@pytest.mark.parametrize("out", ["spec.yaml", "spec.yaml/below", "/proc/psbench", "/sys/psbench"])
def test_an_output_that_cannot_be_written_is_named_and_starts_nothing(command, option, out):
    done = command.run("run", command.write(SPEC), option, out)
    assert done.returncode == 2
    assert done.stdout == ""
    assert out in done.stderr.splitlines()[-1]
    assert "warning" not in done.stderr


def test_a_missing_file_is_named(command):
    done = command.run("run", "nowhere.yaml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nowhere.yaml" in done.stderr
