"""Where the disk is full, one line says which file and why, and nothing written before is lost."""

import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import resource, subprocess, sys
from pathlib import Path
from psbench.errors import ResultsError
from psbench.results import EvalRow, RunFolder, StepRow, read_journal, read_steps, read_status

ROOM = {"tmpfs": (256 * 1024, 2**24), "limit": (30_000, resource.RLIM_INFINITY)}
folder, way, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def set_room(size):
    if way == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    else:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)

def evaluation(attempt, step):
    return EvalRow(cell_id="c" * 64, repeat=0, attempt=attempt, step=step, samples=1, seconds=1.0,
                   loss=1.0, accuracy=None)

def fill(run):
    step = 0
    with run, run.step_stream("c" * 64, 0, 1) as stream:
        while True:
            if what == "journal":
                run.append(evaluation(1, step))
            else:
                row = StepRow(*[1] * (len(StepRow._fields) - len(StepRow._field_defaults)))
                stream.write([row._replace(step=step, warmup=False)])
            step += 1
            written.append(step - 1)

small, large = ROOM[way]
run = RunFolder.resume(folder / "run")
set_room(small)
written = []
try:
    fill(run)
except ResultsError as error:
    print(error)

def check():
    if what == "journal":
        steps = [row.step for row in read_journal(run.path).evals if row.attempt == 1]
    else:
        steps = [step for found in read_steps(run.path) for step in found.table["step"].to_pylist()]
    assert len(written) > 10
    assert steps == written

check()
set_room(large)
with RunFolder.resume(run.path) as again:
    assert again.next_attempt("c" * 64, 0) == 2
    again.append(evaluation(2, 0))
    again.finish("finished")
check()
assert read_journal(run.path).evals[-1] == evaluation(2, 0)
assert read_status(run.path)["status"] == "finished"
"""


@pytest.mark.parametrize(("what", "file"), [("journal", "journal/0001.jsonl"), ("steps", ".arrow")])
@pytest.mark.parametrize(
    ("way", "why"), [("tmpfs", "No space left on device"), ("limit", "File too large")]
)
def test_a_full_disk_is_told_in_one_line_and_with_room_the_run_goes_on(
    tmp_path, way, why, what, file
):
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path), way, what]
    if way == "tmpfs":
        if not can_mount():
            pytest.skip("mounting a tmpfs in a namespace of its own takes root on Linux")
        mount = 'mount -t tmpfs -o size=16m none "$0" && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", mount, str(tmp_path), *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    (said,) = done.stdout.splitlines()
    assert said.startswith("cannot ")
    assert file in said
    assert said.endswith(f"{why}; results need a writable folder with free space")


def can_mount():
    if os.name != "posix" or shutil.which("unshare") is None:
        return False
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True, timeout=30).returncode == 0
