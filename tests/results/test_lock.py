"""A folder has one writer, who is named to the second; the lock ends with its process alone."""

import errno
import fcntl
import os
import platform
import subprocess
import sys

import pytest

from psbench.errors import ResultsError
from psbench.results import RunFolder
from psbench.results.lock import WriterLock

ME = f"is being written by process {os.getpid()} on {platform.node()}"


def test_a_second_writer_is_refused_by_the_name_of_the_first(tmp_path):
    first = WriterLock(tmp_path)
    with pytest.raises(ResultsError, match=ME) as refused:
        WriterLock(tmp_path)
    assert "\n" not in str(refused.value)
    first.release()
    WriterLock(tmp_path).release()


def test_no_child_inherits_it(tmp_path):
    lock = WriterLock(tmp_path)
    script = "import sys; print(flush=True); sys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=False,
    )
    child.stdout.readline()  # it runs
    lock.release()
    WriterLock(tmp_path).release()
    child.communicate(timeout=30)


def test_a_killed_process_leaves_it_free(tmp_path):
    script = (
        "import sys; from pathlib import Path; from psbench.results.lock import WriterLock\n"
        "lock = WriterLock(Path(sys.argv[1])); print(flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    holder.stdout.readline()
    with pytest.raises(ResultsError, match=f"process {holder.pid} on"):
        WriterLock(tmp_path)
    holder.kill()
    holder.communicate(timeout=30)
    WriterLock(tmp_path).release()


def test_a_lock_file_that_its_holder_removed_is_not_taken_for_the_new_one(tmp_path, monkeypatch):
    flock = fcntl.flock
    (tmp_path / "writer.lock").touch()

    def remove_first(descriptor, how):
        monkeypatch.undo()
        (tmp_path / "writer.lock").unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    lock = WriterLock(tmp_path)
    assert lock.path.read_text() == f"{os.getpid()} {platform.node()}\n"
    lock.release()


def test_a_file_system_without_locks_is_written_with_a_warning(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with RunFolder.create(tmp_path, "quickstart", tmp_path / "run") as run:
        (warning,) = run.warnings
        assert "has no locks" in warning
        with pytest.raises(ResultsError, match="is not empty"):
            RunFolder.create(tmp_path, "quickstart", tmp_path / "run")


@pytest.mark.parametrize(
    "open_folder",
    [
        lambda path: RunFolder.create(path.parent, "quickstart", path),
        RunFolder.resume,
    ],
)
def test_a_run_folder_is_locked_until_it_is_closed(tmp_path, open_folder):
    path = tmp_path / "run"
    with open_folder(path):
        for again in (lambda: RunFolder.create(tmp_path, "", path), lambda: RunFolder.resume(path)):
            with pytest.raises(ResultsError, match=ME):
                again()
    RunFolder.resume(path).finish("finished")
    RunFolder.resume(path).close()
    with pytest.raises(ResultsError, match="is not empty"):
        RunFolder.create(tmp_path, "", path)
