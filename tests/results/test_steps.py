"""A stream of step rows gives back what was written, and all whole batches wherever it is cut."""

import math

import pyarrow as pa
import pytest

from psbench.errors import ResultsError
from psbench.results import StepRow, StepStream, read_steps

CELL = "0123456789abcdef" * 4


def _row(rank, step):
    return StepRow(
        rank=rank,
        step=step,
        samples=32,
        warmup=step == 0,
        loss=0.5 + step,
        begin_s=step + 0.0,
        compute_s=0.25,
        enter_s=step + 0.25,
        exit_s=step + 0.5,
        update_s=0.125,
        server_update_s=0.0625,
        queue_s=math.nan,
        end_s=step + 0.75,
        pulled_version=-1,
        version=-1,
        staleness=-1,
        bytes_sent=2**40,
        bytes_received=7,
        messages_sent=2,
        messages_received=3,
    )


def _run(tmp_path):
    (tmp_path / "steps").mkdir()
    return tmp_path


def _read_one(run):
    (steps,) = read_steps(run)
    return steps


def test_rows_come_back_with_their_types_and_identity(tmp_path):
    run = _run(tmp_path)
    rows = [_row(rank, step) for step in range(3) for rank in range(2)]
    with StepStream(run / "steps", CELL, 4, 2) as stream:
        stream.write(rows[:2])
        stream.write([])
        stream.write(rows[2:])
    assert stream.path.name == "0123456789ab-r4-a2.arrow"
    steps = _read_one(run)
    assert (steps.cell_id, steps.repeat, steps.attempt) == (CELL, 4, 2)
    columns = steps.table.to_pydict()
    assert list(columns) == list(StepRow._fields)
    assert all(math.isnan(value) for value in columns.pop("queue_s"))
    index = StepRow._fields.index("queue_s")
    expected = [row[:index] + row[index + 1 :] for row in rows]
    for name in ("enters", "exits", "sents", "turns", "update_begins", "update_ends"):
        columns[name] = [tuple(times) for times in columns[name]]
    assert list(zip(*columns.values(), strict=True)) == expected
    assert isinstance(columns["warmup"][0], bool)
    assert isinstance(columns["bytes_sent"][0], int)


def test_the_times_of_buckets_come_back(tmp_path):
    run = _run(tmp_path)
    cut = _row(1, 0)._replace(enters=(0.25, 0.375), exits=(0.375, 0.5))
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        stream.write([_row(0, 0), cut])
    table = _read_one(run).table
    assert table["enters"].to_pylist() == [[], [0.25, 0.375]]
    assert table["exits"].to_pylist() == [[], [0.375, 0.5]]


def test_steps_of_an_older_psbench_lack_what_it_did_not_know(tmp_path):
    run = _run(tmp_path)
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        stream.write([_row(0, 0), _row(1, 0)])
    with pa.ipc.open_stream(stream.path.read_bytes()) as reader:
        old = reader.read_all().drop_columns(
            ["enters", "exits", "sents", "update_begins", "update_ends", "version_spread"]
        )
    with pa.ipc.new_stream(str(stream.path), old.schema) as writer:
        writer.write_table(old)
    table = _read_one(run).table
    assert table.column_names == list(StepRow._fields)
    assert table["enters"].to_pylist() == table["update_ends"].to_pylist() == [[], []]
    assert table["version_spread"].to_pylist() == [-1, -1]
    assert table["rank"].to_pylist() == [0, 1]


def test_rows_can_be_read_while_the_stream_is_open(tmp_path):
    run = _run(tmp_path)
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        stream.write([_row(0, 0)])
        assert _read_one(run).table.num_rows == 1


def test_a_stream_cut_at_any_byte_yields_its_whole_batches(tmp_path):
    run = _run(tmp_path)
    ends = []
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        for step in range(3):
            stream.write([_row(0, step), _row(1, step)])
            ends.append(stream.path.stat().st_size)
        whole = stream.path.read_bytes()
    for size in range(len(whole) + 1):
        stream.path.write_bytes(whole[:size])
        steps_read = [step for steps in read_steps(run) for step in steps.table["step"].to_pylist()]
        num_whole = sum(end <= size for end in ends)
        assert steps_read == [step for step in range(num_whole) for _ in range(2)]


def test_a_whole_stream_is_packed_into_one_batch(tmp_path):
    run = _run(tmp_path)
    rows = [_row(rank, step) for step in range(50) for rank in range(4)]
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        for start in range(0, len(rows), 10):
            stream.write(rows[start : start + 10])
        loose, size = _read_one(run).table, stream.path.stat().st_size
    packed = _read_one(run).table
    assert packed.drop_columns("queue_s").equals(loose.drop_columns("queue_s"))
    assert loose["step"].num_chunks == 20
    assert packed["step"].num_chunks == 1
    assert stream.path.stat().st_size < size / 4
    assert [path.name for path in (run / "steps").iterdir()] == [stream.path.name]


def test_a_stream_that_cannot_be_packed_is_left_as_it_is(tmp_path):
    run = _run(tmp_path)
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        stream.write([_row(0, 0)])
        size = stream.path.stat().st_size
        stream.write([_row(0, 1)])
        with stream.path.open("r+b") as file:
            file.seek(size)
            file.write(b"not a batch")
    assert _read_one(run).table["step"].to_pylist() == [0]
    assert [path.name for path in (run / "steps").iterdir()] == [stream.path.name]


def test_a_packed_stream_cut_at_any_byte_is_whole_or_empty(tmp_path):
    run = _run(tmp_path)
    with StepStream(run / "steps", CELL, 0, 1) as stream:
        stream.write([_row(0, 0), _row(1, 0)])
    whole = stream.path.read_bytes()
    for size in range(len(whole) + 1):
        stream.path.write_bytes(whole[:size])
        num_rows = sum(steps.table.num_rows for steps in read_steps(run))
        assert num_rows in ((0, 2) if size < len(whole) else (2,))


def test_a_stream_is_never_overwritten(tmp_path):
    run = _run(tmp_path)
    StepStream(run / "steps", CELL, 0, 1).close()
    with pytest.raises(ResultsError, match="File exists"):
        StepStream(run / "steps", CELL, 0, 1)


def test_a_file_that_is_no_stream_of_steps_is_an_error_that_names_it(tmp_path):
    run = _run(tmp_path)
    path = run / "steps" / "x-r0-a1.arrow"
    path.write_text("hello")
    with pytest.raises(ResultsError, match=r"x-r0-a1\.arrow is damaged"):
        list(read_steps(run))
    with path.open("wb") as file, pa.ipc.new_stream(file, pa.schema([("a", pa.int64())])):
        pass
    with pytest.raises(ResultsError, match="holds no step rows"):
        list(read_steps(run))
