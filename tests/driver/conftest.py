"""`psbench` as a user types it, in a folder of its own."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import pytest


class Command:
    """`psbench` in a folder, its processes marked so that those it leaves can be found."""

    def __init__(self, folder):
        self.folder = folder
        self.mark = uuid.uuid4().hex

    def write(self, text, name="spec.yaml"):
        (self.folder / name).write_text(text)
        return name

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", "from psbench.cli import main; main()", *arguments],
            cwd=self.folder,
            env={**os.environ, "PSBENCH_TEST": self.mark, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        stdout, stderr = process.communicate(timeout=110)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def processes(self):
        """Command lines of the living processes that carry the mark, by pid."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().decode()
            except OSError:
                continue
        return {pid: line for pid, line in found.items() if line}  # an empty one is a zombie

    def nothing_left(self):
        deadline = time.monotonic() + 30
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self.processes() == {}
        return True


@pytest.fixture
def short_folder():
    """A folder with a short path, for Ray's: its sockets lie deep in it."""
    with tempfile.TemporaryDirectory(prefix="psb-", ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.fixture
def command(tmp_path):
    made = Command(tmp_path)
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)
