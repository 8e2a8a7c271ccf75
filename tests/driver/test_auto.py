"""`psbench calibrate`, and a run in which `auto` picks, on a Ray of their own."""

import json

import psbench

SPEC = """
name: auto
task: {payload: 64 KiB}
steps: 4
workers: 2
strategy: auto
transport: shared_memory
repeats: 2
"""


def test_auto_stands_for_one_algorithm_in_all_trials_and_the_manifest_says_why(command, tmp_path):
    done = command.run("run", command.write(SPEC), "--out", "run")
    assert done.returncode == 0, done.stderr
    results = psbench.load(tmp_path / "run")
    assert results.trials["status"].tolist() == ["ok", "ok"]
    (network,) = results.manifest["networks"].values()
    times = {one["algorithm"]: one["time"] for one in network["collectives"]}
    assert {one["size"] for one in network["collectives"]} == {"64 KiB"}
    (picked,) = set(results.trials["algorithm"])
    assert picked in times
    assert command.nothing_left()


def test_a_network_is_measured_written_and_used(command, tmp_path):
    options = ("--workers", "2", "--transport", "shared_memory", "--sizes", "1000,64KiB")
    done = command.run("calibrate", *options, "--out", "n")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["link", "time", "±", "(95", "%)"]
    assert [line.split()[0] for line in lines[2:6]] == [
        "latency", "overhead", "byte_time", "reduce_time",
    ]  # fmt: skip
    assert lines[-1] == "n"
    asked = ("--workers", "2", "--size", "64KiB", "--network", "n", "--json")
    rows = command.run("schedule", "auto", *asked).stdout.splitlines()
    fastest = json.loads(rows[0])
    (line,) = [
        line
        for line in (tmp_path / "n").read_text().splitlines()
        if f"{fastest['algorithm']}, workers: 2, size: 64 KiB" in line
    ]
    assert "us}" in line or "ms}" in line
