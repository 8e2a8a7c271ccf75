"""The journal gives back what was written, wherever a crash cut it, and says where it is bad."""

import errno
import json
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.errors import ResultsError
from psbench.results import EvalRow, EventRow, TrialRow, read_journal
from psbench.results.encoding import decode_row, encode_row
from psbench.results.journal import JournalWriter

EVAL = EvalRow(
    cell_id="a" * 64,
    repeat=0,
    attempt=1,
    step=20,
    samples=640,
    seconds=1.5,
    loss=0.25,
    accuracy=None,
)
TRIAL = TrialRow(
    cell_id="a" * 64,
    repeat=0,
    attempt=1,
    status="failed",
    error="rank 1 died",
    transport="gloo",
    steps=3,
    samples=64,
    seconds=0.5,
    pushes_sent=None,
    pushes_acknowledged=6,
    pushes_applied=6,
    bytes_sent=(8, 16),
    bytes_received=(16, 8),
    messages_sent=(1, 2),
    messages_received=(2, 1),
    node_hosts=("here", "there"),
    one_clock=False,
    threads=1,
)
EVENT = EventRow(time="2026-01-02T03:04:05+00:00", kind="note", message="two\nlines, é")


def _written(run, *rows):
    (run / "journal").mkdir(exist_ok=True)
    writer = JournalWriter(run / "journal")
    for row in rows:
        writer.append(row)
    writer.close()
    return writer.path


def test_rows_of_every_kind_come_back(tmp_path):
    _written(tmp_path, EVAL, TRIAL, EVENT)
    journal = read_journal(tmp_path)
    assert journal.evals == (EVAL,)
    assert journal.trials == (TRIAL,)
    assert journal.events == (EVENT,)
    assert journal.num_unknown == 0


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_float_that_is_not_finite_is_null_on_disk_and_nan_when_read(tmp_path, loss):
    row = EvalRow(
        cell_id="b", repeat=1, attempt=1, step=1, samples=1, seconds=1.0, loss=loss, accuracy=0.5
    )
    path = _written(tmp_path, row)

    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    assert json.loads(path.read_text(), parse_constant=refuse)["loss"] is None
    assert math.isnan(read_journal(tmp_path).evals[0].loss)


@given(
    repeat=st.integers(0, 99),
    seconds=st.floats(allow_nan=False, allow_infinity=False),
    accuracy=st.none() | st.floats(0, 1),
    cell_id=st.text(),
)
def test_encoding_is_exact(repeat, seconds, accuracy, cell_id):
    row = EvalRow(
        cell_id=cell_id,
        repeat=repeat,
        attempt=1,
        step=1,
        samples=2**60,
        seconds=seconds,
        loss=seconds,
        accuracy=accuracy,
    )
    assert decode_row(json.loads(json.dumps(encode_row(row), allow_nan=False))) == row


def test_a_journal_cut_at_any_byte_loses_only_its_last_line(tmp_path):
    path = _written(tmp_path, EVAL, EVENT, EVENT)
    whole = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        journal = read_journal(tmp_path)
        assert len(journal.evals + journal.events) == sum(end <= size for end in ends)


def test_a_bad_line_that_is_not_the_last_is_an_error_with_file_and_line(tmp_path):
    path = _written(tmp_path, EVAL, EVENT)
    first, second, _ = path.read_bytes().split(b"\n")
    path.write_bytes(first + b"\n" + second[:9] + b"\n" + second + b"\n")
    with pytest.raises(ResultsError, match=r"0001\.jsonl:2: damaged journal line"):
        read_journal(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": "20"}, "step '20'"),
        ({"step": True}, "step True"),
        ({"loss": "low"}, "loss 'low'"),
        ({"cell_id": None}, "cell_id None"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(tmp_path, change, message):
    path = _written(tmp_path, EVAL)
    path.write_text(json.dumps(encode_row(EVAL) | change) + "\n")
    with pytest.raises(ResultsError, match=message):
        read_journal(tmp_path)


def test_an_unknown_status_and_a_missing_field_are_errors(tmp_path):
    path = _written(tmp_path)
    path.write_text(json.dumps(encode_row(TRIAL) | {"status": "won"}) + "\n")
    with pytest.raises(ResultsError, match="status 'won'"):
        read_journal(tmp_path)
    path.write_text('{"type": "event", "time": "now"}\n')
    with pytest.raises(ResultsError, match="event row without 'kind'"):
        read_journal(tmp_path)


def test_rows_and_fields_of_a_later_version_are_passed_over_and_counted(tmp_path):
    path = _written(tmp_path, EVENT)
    with path.open("a") as file:
        file.write('{"type": "hologram"}\n')
        file.write(json.dumps(encode_row(EVAL) | {"depth": 3}) + "\n")
    journal = read_journal(tmp_path)
    assert journal.num_unknown == 1
    assert journal.evals == (EVAL,)


def test_two_writers_never_share_a_part_and_parts_are_read_in_order(tmp_path):
    (tmp_path / "journal").mkdir()
    first = JournalWriter(tmp_path / "journal")
    second = JournalWriter(tmp_path / "journal")
    assert [first.path.name, second.path.name] == ["0001.jsonl", "0002.jsonl"]
    second.append(EventRow(time="t", kind="note", message="later"))
    first.append(EventRow(time="t", kind="note", message="earlier"))
    first.close()
    second.close()
    messages = [event.message for event in read_journal(tmp_path).events]
    assert messages == ["earlier", "later"]


def test_part_numbers_are_ordered_as_numbers(tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir()
    for number in ("9999", "10000"):
        line = json.dumps(encode_row(EventRow(time="t", kind="note", message=number)))
        (folder / f"{number}.jsonl").write_text(line + "\n")
    assert [event.message for event in read_journal(tmp_path).events] == ["9999", "10000"]
    assert _written(tmp_path).name == "10001.jsonl"


def test_a_full_disk_leaves_no_torn_line(tmp_path, monkeypatch):
    (tmp_path / "journal").mkdir()
    writer = JournalWriter(tmp_path / "journal")
    writer.append(EVAL)
    write = os.write
    room = [5]

    def write_what_fits(descriptor, line):
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, line[: room.pop()])

    monkeypatch.setattr(os, "write", write_what_fits)
    with pytest.raises(ResultsError, match=r"cannot append to .*: No space left on device"):
        writer.append(EVENT)
    monkeypatch.undo()
    writer.append(EVENT)
    writer.close()
    assert read_journal(tmp_path).events == (EVENT,)


def test_a_run_without_a_journal_has_no_rows(tmp_path):
    assert read_journal(tmp_path).trials == ()


def test_a_row_of_an_earlier_version_takes_defaults_for_what_came_later(tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir()
    encoded = encode_row(TRIAL)
    del encoded["peak_memory_bytes"], encoded["pinned_cores"]
    (folder / "0001.jsonl").write_text(json.dumps(encoded) + "\n")
    (row,) = read_journal(tmp_path).trials
    assert (row.peak_memory_bytes, row.pinned_cores) == ((), ())
