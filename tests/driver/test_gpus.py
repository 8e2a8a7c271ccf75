"""What a user of a machine without GPUs reads who asks for some."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "experiments" / "gpu" / "run.py"

SPEC = """
name: gpus
task: {payload: 1 KiB}
steps: 1
workers: 4
strategy: ring
device: cuda
cluster: {gpus_per_worker: 1024}
"""


def test_a_run_on_gpus_that_are_not_there_is_refused_in_one_line(command, tmp_path):
    done = command.run("run", command.write(SPEC))
    assert done.returncode == 2
    *_, line = done.stderr.splitlines()
    assert line.startswith("psbench: error: the spec needs 4096 GPUs at once (cluster.gpus_per_")
    assert " and torch here sees " in line
    assert line.endswith("; ask for fewer, or compute on the CPU")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("results/gpus/*")) == []
    assert command.nothing_left()


def test_the_experiment_ends_well_where_there_is_no_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    out = tmp_path / "figures"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--out", out], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].endswith(" sees no GPU: nothing was run")
    figures = json.loads((out / "figures.json").read_text())
    assert (figures["gpus"], figures["parts"]) == ([], {})
    again = subprocess.run(
        [sys.executable, SCRIPT, "--out", out], capture_output=True, text=True, timeout=60
    )
    assert again.returncode == 2
    assert again.stderr.splitlines()[-1].endswith("figures: is not empty; name a new folder")
