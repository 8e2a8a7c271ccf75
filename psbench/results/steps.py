"""Step rows on disk: one Arrow stream a trial, cut anywhere without losing its whole batches."""

import contextlib
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from psbench.errors import ResultsError
from psbench.results.files import os_errors
from psbench.results.rows import StepRow

_ARROW_TYPES: dict[Any, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    tuple[float, ...]: pa.list_(pa.float64()),
}
_SCHEMA = pa.schema(
    [(name, _ARROW_TYPES[kind]) for name, kind in typing.get_type_hints(StepRow).items()]
)
_PACKED = pa.ipc.IpcWriteOptions(compression="zstd")
_PACKED_ROWS = 65_536  # of a batch
_CONTINUATION = b"\xff\xff\xff\xff"  # how every message of an Arrow stream begins


class StepStream:
    """Writes the step rows of one trial; a context manager that closes the stream.

    A batch is there as soon as it is written. Once all are, they are packed into one: as many small
    ones they weigh four times as much.
    """

    def __init__(self, folder: Path, cell_id: str, repeat: int, attempt: int) -> None:
        self.path = folder / f"{_stem(cell_id, repeat)}{attempt}.arrow"
        identity = {"cell_id": cell_id, "repeat": str(repeat), "attempt": str(attempt)}
        self._schema = _SCHEMA.with_metadata(identity)
        with os_errors("write", self.path):
            self._file = self.path.open("xb")
            self._writer = pa.ipc.new_stream(self._file, self._schema)

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, rows: list[StepRow]) -> None:
        """Write `rows` as one record batch and flush it."""
        if not rows:
            return
        columns = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)
        ]
        with os_errors("write", self.path):
            self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
            self._file.flush()

    def close(self) -> None:
        if not self.closed:
            with os_errors("close", self.path):
                try:
                    self._writer.close()
                finally:
                    self._file.close()
                _pack(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:  # where a disk is full closing fails too, and what failed first is what to tell
            with contextlib.suppress(ResultsError):
                self.close()


def _pack(path: Path) -> None:
    """Compress a whole stream, in place of itself; leave it as it is where that fails."""
    packed = path.with_suffix(".tmp")
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_stream(source).read_all()
            with pa.ipc.new_stream(str(packed), table.schema, options=_PACKED) as writer:
                for start in range(0, table.num_rows, _PACKED_ROWS):
                    writer.write_table(table.slice(start, _PACKED_ROWS).combine_chunks())
        packed.replace(path)
    except (pa.ArrowException, OSError):  # torn by an earlier failure, or no room for a second file
        packed.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class TrialSteps:
    """The step rows of one trial's attempt, as an Arrow table with StepRow's columns."""

    cell_id: str
    repeat: int
    attempt: int
    table: pa.Table


def last_step_attempt(run: Path, cell_id: str, repeat: int) -> int:
    """Return the last attempt at a trial that made a step file, however torn; 0 where none did."""
    stem = _stem(cell_id, repeat)
    numbers = [path.stem.removeprefix(stem) for path in (run / "steps").glob(f"{stem}*.arrow")]
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def read_steps(run: Path) -> Iterator[TrialSteps]:
    """Yield the step rows of each trial of the run folder `run`, in the order of file names.

    A stream that was cut short yields its whole batches; one cut within its first message is
    passed over. Raises ResultsError for a file that is no Arrow stream of step rows.
    """
    for path in sorted((run / "steps").glob("*.arrow")):
        steps = _read_stream(path)
        if steps is not None:
            yield steps


def _stem(cell_id: str, repeat: int) -> str:
    return f"{cell_id[:12]}-r{repeat}-a"


def _read_stream(path: Path) -> TrialSteps | None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    if content[:4] != _CONTINUATION[: len(content)]:
        raise ResultsError(f"{path} is damaged: it should hold an Arrow stream")
    try:
        reader = pa.ipc.open_stream(content)
    except (pa.ArrowException, OSError):
        return None
    metadata = reader.schema.metadata or {}
    try:
        return TrialSteps(
            cell_id=metadata[b"cell_id"].decode(),
            repeat=int(metadata[b"repeat"]),
            attempt=int(metadata[b"attempt"]),
            table=_with_all_columns(pa.Table.from_batches(_whole_batches(reader), reader.schema)),
        )
    except KeyError as error:
        raise ResultsError(f"{path} holds no step rows: it lacks {error}") from error


def _with_all_columns(table: pa.Table) -> pa.Table:
    """Return a table with StepRow's columns; what an older psbench did not write is its default.

    Raises KeyError for a column that lacks and has no default.
    """
    for name, default in StepRow._field_defaults.items():
        if name not in table.column_names:
            kind = _SCHEMA.field(name).type
            table = table.append_column(name, pa.array([default] * table.num_rows, kind))
    return table.select(_SCHEMA.names)


def _whole_batches(reader: Any) -> list[pa.RecordBatch]:
    batches = []
    try:
        for batch in reader:
            batch.validate()
            batches.append(batch)
    except (pa.ArrowException, OSError):
        pass  # the rest was never written
    return batches
