"""The journal: trials, evaluations and events as lines of JSON, in parts.

One process writes one part, a line with one write, so that a crash can tear a part's last line
and no other.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from psbench.errors import ResultsError
from psbench.results.encoding import decode_row, encode_row
from psbench.results.files import os_errors, sync_folder
from psbench.results.rows import EvalRow, EventRow, JournalRow, TrialRow


class JournalWriter:
    """Appends rows to a part of its own: the next free number in `folder`."""

    def __init__(self, folder: Path) -> None:
        with os_errors("write a journal in", folder):
            self.path, self._descriptor = _open_part(folder)
            sync_folder(folder)

    def append(self, row: JournalRow) -> None:
        """Write one line. It survives this process at once, and the machine after `close`."""
        assert self._descriptor >= 0, "the journal is closed"
        line = json.dumps(encode_row(row), allow_nan=False).encode() + b"\n"
        with os_errors("append to", self.path):
            size = os.fstat(self._descriptor).st_size
            try:
                while line:  # once, unless the disk fills up: then the next try says so
                    line = line[os.write(self._descriptor, line) :]
            except OSError:
                # Take the torn half back, so that a later line starts on a line of its own.
                os.ftruncate(self._descriptor, size)
                raise

    def close(self) -> None:
        """Make all of it durable; a part that nothing was written to is taken away."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with os_errors("close", self.path):
                try:
                    os.fsync(descriptor)
                    if not os.fstat(descriptor).st_size:
                        self.path.unlink(missing_ok=True)
                finally:
                    os.close(descriptor)


@dataclass(frozen=True, kw_only=True)
class Journal:
    """All rows of a run, in the order in which they were written."""

    trials: tuple[TrialRow, ...]
    evals: tuple[EvalRow, ...]
    events: tuple[EventRow, ...]
    num_unknown: int
    """Rows of a type that this version of psbench does not know, passed over."""


def read_journal(run: Path) -> Journal:
    """Return the rows in all parts of the journal of the run folder `run`.

    A part's last line may be torn and is then dropped; a bad line anywhere else raises
    ResultsError with file and line.
    """
    rows: list[JournalRow | None] = []
    for _, part in _parts(run / "journal"):
        rows.extend(_read_part(part))
    return Journal(
        trials=tuple(row for row in rows if isinstance(row, TrialRow)),
        evals=tuple(row for row in rows if isinstance(row, EvalRow)),
        events=tuple(row for row in rows if isinstance(row, EventRow)),
        num_unknown=rows.count(None),
    )


def _read_part(part: Path) -> list[JournalRow | None]:
    try:
        lines = part.read_bytes().split(b"\n")
    except OSError as error:
        raise ResultsError(f"cannot read {part}: {error.strerror}") from error
    # What follows the last newline is empty, or a line whose writing was cut short.
    return [_read_line(line, f"{part}:{number}") for number, line in enumerate(lines[:-1], 1)]


def _read_line(line: bytes, where: str) -> JournalRow | None:
    try:
        encoded = json.loads(line)
        if not isinstance(encoded, dict):
            raise ValueError("not a JSON object")
        return decode_row(encoded)
    except ValueError as error:
        raise ResultsError(f"{where}: damaged journal line: {error}") from error


def _parts(folder: Path) -> list[tuple[int, Path]]:
    numbered = [(path.stem, path) for path in folder.glob("*.jsonl")]
    return sorted((int(stem), path) for stem, path in numbered if stem.isdecimal())


def _open_part(folder: Path) -> tuple[Path, int]:
    parts = _parts(folder)
    number = parts[-1][0] + 1 if parts else 1
    while True:
        path = folder / f"{number:04d}.jsonl"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            return path, os.open(path, flags, 0o644)
        except FileExistsError:  # another writer took this number between our look and our open
            number += 1
