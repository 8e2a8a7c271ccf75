"""A run folder is made once, belongs to one run, and says plainly why it cannot be made."""

import errno
import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from psbench.errors import ResultsError
from psbench.results import (
    EvalRow,
    EventRow,
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


def test_runs_of_one_second_have_folders_of_their_own(tmp_path):
    runs = [RunFolder.create(tmp_path, "quickstart") for _ in range(20)]
    assert len({run.path for run in runs}) == 20
    for run in runs:
        run.close()


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


def test_a_damaged_status_is_an_error_that_names_the_file(tmp_path):
    (tmp_path / "status.json").write_text('{"status": "fini')
    with pytest.raises(ResultsError, match=r"status\.json is damaged"):
        read_status(tmp_path)


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


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("made", ["absent", "empty", "locked once"])
def test_a_run_is_resumed_into_a_folder_that_holds_nothing(tmp_path, made):
    path = tmp_path / "run"
    if made != "absent":
        path.mkdir()
    if made == "locked once":
        (path / "writer.lock").write_text("1 gone\n")
    with RunFolder.resume(path) as run:
        assert not run.resumed
        assert run.ended == frozenset()
        run.discard()
    assert path.exists() == (made != "absent")
    assert not path.exists() or not list(path.iterdir())


def test_what_holds_something_else_than_a_run_is_refused_and_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    before = contents(tmp_path)
    with pytest.raises(ResultsError, match="holds no run"):
        RunFolder.resume(tmp_path)
    assert contents(tmp_path) == before


def test_a_resumed_run_knows_what_ended_and_counts_attempts_by_all_that_they_left(tmp_path):
    ended, evaluated, streamed, torn = (letter * 64 for letter in "abcd")
    with RunFolder.create(tmp_path, "quickstart") as run:
        run.append(replace(TRIAL, cell_id=ended))
        run.append(replace(EVAL, cell_id=evaluated, repeat=1, attempt=3))
        run.step_stream(streamed, 0, 9).close()
        run.step_stream(streamed, 0, 10).close()
        run.step_stream(torn, 12, 1).close()
    torn_file = run.path / "steps" / f"{torn[:12]}-r12-a1.arrow"
    torn_file.write_bytes(torn_file.read_bytes()[:2])
    with (run.path / "journal" / "0001.jsonl").open("ab") as journal:
        journal.write(b'{"type": "trial", "cell')
    with RunFolder.resume(run.path) as run:
        assert run.resumed
        assert run.ended == {(ended, 0)}
        assert run.next_attempt(ended, 0) == 2
        assert run.next_attempt(evaluated, 1) == 4
        assert run.next_attempt(evaluated, 0) == 1
        assert run.next_attempt(streamed, 0) == 11
        assert run.next_attempt(torn, 12) == 2
        assert run.next_attempt(torn, 1) == 1
        run.append(replace(TRIAL, cell_id=torn, repeat=12, attempt=2, status="ok"))
        run.finish("finished", ["mind this"])
    status = read_status(run.path)
    assert status["trials"] == {"failed": 1, "ok": 1}
    assert status["warnings"] == ["mind this"]
    assert [row.cell_id for row in read_journal(run.path).trials] == [ended, torn]


def test_a_run_that_goes_on_has_not_ended_once_its_journal_says_so(tmp_path):
    RunFolder.resume(tmp_path / "run").finish("interrupted")
    for damage in (None, "{"):
        if damage:
            (tmp_path / "run" / "status.json").write_text(damage)
        with RunFolder.resume(tmp_path / "run") as run:
            run.go_on(EventRow(time="t", kind="resumed", message=f"{damage}"))
            assert read_status(run.path) is None
    assert [event.message for event in read_journal(run.path).events] == ["None", "{"]


def test_a_run_that_had_only_its_status_left_to_write_leaves_no_empty_part(tmp_path):
    with RunFolder.create(tmp_path, "quickstart") as run:
        run.append(TRIAL)
    RunFolder.resume(run.path).finish("finished")
    assert [path.name for path in (run.path / "journal").iterdir()] == ["0001.jsonl"]
    assert read_status(run.path)["trials"] == {"failed": 1}


def test_a_resumed_run_that_is_refused_leaves_its_folder_as_it_was(tmp_path):
    with RunFolder.create(tmp_path, "quickstart") as run:
        run.append(TRIAL)
        run.finish("interrupted")
    (run.path / ".status.json.7.tmp").write_text("{")  # of a process that was killed
    before = contents(run.path)
    with RunFolder.resume(run.path) as again:
        again.discard()
    after = contents(run.path)
    assert before.keys() - after.keys() == {run.path / ".status.json.7.tmp"}
    lock = run.path / "writer.lock"
    assert all(after[path] == before[path] for path in after if path != lock)
