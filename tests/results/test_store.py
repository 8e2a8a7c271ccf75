"""A run folder is made once, belongs to one run, and says plainly why it cannot be made."""

import errno
import json
import os
import re
import subprocess
import sys

import pytest

from psbench.errors import ResultsError
from psbench.results import (
    EvalRow,
    RunFolder,
    TrialRow,
    find_runs,
    read_journal,
    read_manifest,
    read_status,
)

EVAL = EvalRow(
    cell_id="c", repeat=0, attempt=1, step=1, samples=8, seconds=1.0, loss=0.5, accuracy=0.9
)
TRIAL = TrialRow(
    cell_id="c",
    repeat=0,
    attempt=1,
    status="failed",
    error="rank 1 died",
    transport="gloo",
    steps=0,
    samples=0,
    seconds=0.0,
    pushes_sent=None,
    pushes_acknowledged=None,
    pushes_applied=None,
    bytes_sent=(),
    bytes_received=(),
    messages_sent=(),
    messages_received=(),
    node_hosts=(),
    one_clock=True,
    threads=1,
)


def test_a_new_run_gets_a_folder_of_its_own_under_its_name(tmp_path):
    with RunFolder.create(tmp_path, "quickstart") as run:
        assert run.path.parent == tmp_path / "quickstart"
        assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", run.path.name)
        assert (run.path / "journal" / "0001.jsonl").exists()


def test_out_is_the_folder_itself(tmp_path):
    out = tmp_path / "deep" / "mine"
    with RunFolder.create(tmp_path, "quickstart", out) as run:
        assert run.path == out
        run.write_manifest({"schema_version": 1})
    written = json.loads((out / "manifest.json").read_text())
    assert written == {"run_id": "mine", "schema_version": 1}
    with pytest.raises(ResultsError, match="is damaged: it lacks created"):
        read_manifest(out)


def test_an_empty_folder_is_taken_and_one_with_content_is_refused(tmp_path):
    RunFolder.create(tmp_path, "quickstart", tmp_path / "out").close()
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path, "quickstart", tmp_path / "empty").close()
    with pytest.raises(ResultsError, match="out is not empty"):
        RunFolder.create(tmp_path, "quickstart", tmp_path / "out")


def test_a_file_in_the_way_is_an_error_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ResultsError, match="cannot make the run folder") as error:
            RunFolder.create(tmp_path, "quickstart", out)
        assert "\n" not in str(error.value)


@pytest.fixture
def nobody():
    """Act as a user who is not root, to whom every folder is writable."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)


def test_a_folder_that_is_not_writable_is_an_error_in_one_line(tmp_path, nobody):
    folder = tmp_path / "closed"
    try:
        folder.mkdir(mode=0o500)
    except PermissionError:
        folder = tmp_path  # of root, and closed to others as it is
    with pytest.raises(ResultsError, match=r"Permission denied; results need a writable folder"):
        RunFolder.create(folder, "quickstart")


def test_a_disk_that_fills_up_is_an_error_in_one_line(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RunFolder.create(tmp_path, "quickstart") as run:
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(ResultsError, match=r"cannot write .*: No space left on device"):
            run.write_manifest({"schema_version": 1})
        assert not list(run.path.glob("*manifest*"))
        monkeypatch.undo()


def test_the_manifest_is_written_once(tmp_path):
    with RunFolder.create(tmp_path, "quickstart") as run:
        run.write_manifest({"schema_version": 1})
        with pytest.raises(ResultsError, match="never overwritten"):
            run.write_manifest({"schema_version": 1})


def test_finish_writes_the_status_last_with_counts(tmp_path):
    with RunFolder.create(tmp_path, "quickstart") as run:
        run.append(EVAL)
        run.append(TRIAL)
        run.append(TRIAL)
        stream = run.step_stream("c" * 64, 0, 1)
        assert read_status(run.path) is None
        run.finish("interrupted")
    assert stream.closed
    status = read_status(run.path)
    assert status["status"] == "interrupted"
    assert status["trials"] == {"failed": 2}
    assert read_journal(run.path).trials == (TRIAL, TRIAL)
    assert not list(run.path.glob(".*"))


def test_leaving_the_folder_closes_its_streams(tmp_path):
    with RunFolder.create(tmp_path, "quickstart") as run:
        first = run.step_stream("c" * 64, 0, 1)
        second = run.step_stream("c" * 64, 1, 1)
    assert first.closed
    assert second.closed


def test_a_manifest_of_a_later_schema_is_refused_with_both_versions(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": 7}))
    with pytest.raises(ResultsError, match="has schema version 7, and this psbench reads up to 1"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema_version": "1"}', "{"])
def test_a_damaged_manifest_is_an_error_that_names_the_file(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ResultsError, match=r"manifest\.json is damaged"):
        read_manifest(tmp_path)


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with pytest.raises(ResultsError, match="is not a run folder"):
        read_manifest(tmp_path)


def test_runs_are_found_in_the_order_of_their_making(tmp_path):
    for name in ("20260102T000000Z-00000000", "20250102T000000Z-ffffffff"):
        with RunFolder.create(tmp_path, "", tmp_path / name) as run:
            run.write_manifest({"schema_version": 1})
    (tmp_path / "notes").mkdir()
    names = [path.name for path in find_runs(tmp_path)]
    assert names == ["20250102T000000Z-ffffffff", "20260102T000000Z-00000000"]
    assert find_runs(tmp_path / names[0]) == [tmp_path / names[0]]


def test_reading_results_needs_neither_torch_nor_ray_nor_pandas():
    script = (
        "import sys, psbench.results\n"
        "print([name for name in ('torch', 'ray', 'pandas') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"
