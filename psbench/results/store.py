"""A run's folder: made once, written by one process, read by anyone at any time."""

import contextlib
import secrets
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from psbench.errors import ResultsError
from psbench.results.files import os_errors, read_json, write_json_atomic
from psbench.results.journal import JournalWriter
from psbench.results.rows import JournalRow, TrialRow
from psbench.results.steps import StepStream

RunStatus = Literal["finished", "interrupted", "failed"]


class RunFolder:
    """Writes one run; a context manager that closes what is open. Make one with `create`.

    Every method raises ResultsError, in one line, where the file system refuses.
    """

    def __init__(self, path: Path, *, made: bool = True) -> None:
        self.path = path
        self._made = made
        self._journal = JournalWriter(path / "journal")
        self._streams: list[StepStream] = []
        self._num_trials: Counter[str] = Counter()

    @classmethod
    def create(cls, root: Path, name: str, out: Path | None = None) -> Self:
        """Make `root/name/<UTC time>-<short id>`, or take `out`, which must be empty or new."""
        path = root / name / _new_run_id() if out is None else out
        with os_errors("make the run folder", path):
            made = not path.exists()
            path.mkdir(parents=True, exist_ok=out is not None)
            if any(path.iterdir()):
                raise ResultsError(
                    f"{path} is not empty, and results are never overwritten; name a new folder"
                )
            (path / "journal").mkdir()  # of two runs that were given one folder, only one succeeds
            (path / "steps").mkdir()
        return cls(path, made=made)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write manifest.json with this run's id (its folder's name) added; once only."""
        path = self.path / "manifest.json"
        if path.exists():
            raise ResultsError(f"{path} exists, and a manifest is never overwritten")
        write_json_atomic(path, {"run_id": self.path.resolve().name, **manifest})

    def append(self, row: JournalRow) -> None:
        """Append one row to this process's part of the journal."""
        self._journal.append(row)
        if isinstance(row, TrialRow):
            self._num_trials[row.status] += 1

    def step_stream(self, cell_id: str, repeat: int, attempt: int) -> StepStream:
        """Open the stream of one attempt's step rows; use it as a context manager."""
        stream = StepStream(self.path / "steps", cell_id, repeat, attempt)
        self._streams = [known for known in self._streams if not known.closed] + [stream]
        return stream

    def finish(self, status: RunStatus) -> None:
        """Close everything, then write status.json: the last thing a run does."""
        self.close()
        content = {
            "status": status,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "trials": dict(self._num_trials),
        }
        write_json_atomic(self.path / "status.json", content)

    def discard(self) -> None:
        """Take away what `create` made: for a run that was refused before its first trial."""
        self.close()
        for name in ("journal", "steps"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        if self._made:
            with contextlib.suppress(OSError):  # somebody else put something there
                self.path.rmdir()

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def read_status(run: Path) -> dict[str, Any] | None:
    """Return how the run in folder `run` ended, or None if it has not ended (or was killed)."""
    path = run / "status.json"
    return read_json(path) if path.is_file() else None


def find_runs(folder: Path) -> list[Path]:
    """Return `folder` itself if it is a run folder, else the run folders in it, by name.

    Run folders that psbench names sort by the time they were made.
    """
    if (folder / "manifest.json").is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/manifest.json"))


def _new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
