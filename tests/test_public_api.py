"""The public API is six names, and what does not run a trial costs neither ray nor torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import psbench
from psbench import analysis, spec, training

HEAVY = {"ray", "torch"}


def _imported(command: list[str]) -> set[str]:
    """Return the top-level packages that a Python process imports."""
    env = os.environ | {"PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_the_names():
    assert psbench.__all__ == ["Data", "Results", "Spec", "Task", "load", "run"]
    assert psbench.Results is analysis.Results
    assert psbench.load is analysis.load
    assert psbench.Spec is spec.Spec
    assert psbench.Data is training.Data
    assert psbench.Task is training.Task
    assert callable(psbench.run)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'psbench' has no attribute 'laod'"):
        _ = psbench.laod


@pytest.mark.parametrize(
    "code",
    [
        "import psbench",
        "import psbench.analysis",
        "from psbench import Results, Spec, load, run",
    ],
)
def test_an_import_needs_neither_ray_nor_torch(code):
    imported = _imported([sys.executable, "-c", code])
    assert "psbench" in imported
    assert not imported & HEAVY


@pytest.mark.parametrize(
    "arguments", [["--help"], ["schema"], ["schedule", "ring", "--workers", "4"]]
)
def test_a_command_that_runs_nothing_needs_neither_ray_nor_torch(arguments):
    psbench_command = Path(sys.executable).with_name("psbench")
    imported = _imported([sys.executable, str(psbench_command), *arguments])
    assert "psbench" in imported
    assert not imported & HEAVY
