"""A run's folder: made once, written by one process, read by anyone at any time."""

import contextlib
import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from psbench.errors import ResultsError
from psbench.results.files import os_errors, read_json, remove_temporary, write_json_atomic
from psbench.results.journal import JournalWriter, read_journal
from psbench.results.lock import LOCK_FILE, WriterLock, refuse_written
from psbench.results.manifest import has_manifest
from psbench.results.rows import EvalRow, EventRow, JournalRow, TrialRow
from psbench.results.steps import StepStream, last_step_attempt

RunStatus = Literal["finished", "interrupted", "failed"]


class RunFolder:
    """Writes one run; a context manager that closes what is open.

    Made by `create`, or by `resume` for a run to go on with. Holds the folder against any other
    writer until it is closed. Every method raises ResultsError, in one line, where the file system
    refuses.
    """

    def __init__(self, path: Path, lock: WriterLock, *, resumed: bool, made: bool = False) -> None:
        earlier = read_journal(path)
        self.path = path
        self.ended = frozenset((row.cell_id, row.repeat) for row in earlier.trials)
        """(cell id, repeat) of the trials that had a summary when the folder was opened"""
        rows: list[TrialRow | EvalRow] = [*earlier.trials, *earlier.evals]
        rows.sort(key=lambda row: row.attempt)
        self._attempts = {(row.cell_id, row.repeat): row.attempt for row in rows}
        self._num_trials = Counter[str](row.status for row in earlier.trials)
        self._lock = lock
        self.resumed = resumed
        self._made = made
        self._journal = JournalWriter(path / "journal")
        self._streams: list[StepStream] = []

    @classmethod
    def create(cls, root: Path, name: str, out: Path | None = None) -> Self:
        """Make `root/name/<UTC time>-<short id>`, or take `out`, which must be empty or new."""
        path = root / name / _new_run_id() if out is None else out
        with os_errors("make the run folder", path):
            if _has_content(path):
                refuse_written(path)
                raise ResultsError(
                    f"{path} is not empty, and results are never overwritten; name a new folder, "
                    "or go on with a run by --resume"
                )
        return cls._make(path)

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Open the run in `path` to go on with it, or make one there if `path` is empty or new.

        Raises ResultsError, before anything is changed, for a folder with other things in it.
        """
        with os_errors("go on with the run in", path):
            if not (path / "journal").is_dir():
                if _has_content(path):
                    raise ResultsError(
                        f"{path} is not empty and holds no run (no journal); name a run's folder, "
                        "or a new one"
                    )
                return cls._make(path)
            with contextlib.ExitStack() as undo:
                lock = WriterLock(path)
                undo.callback(lock.release)
                remove_temporary(path)
                (path / "steps").mkdir(exist_ok=True)
                folder = cls(path, lock, resumed=True)
                undo.pop_all()
        return folder

    @classmethod
    def _make(cls, path: Path) -> Self:
        with os_errors("make the run folder", path), contextlib.ExitStack() as undo:
            made = not path.exists()
            path.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(path)
            undo.callback(lock.release)
            (path / "journal").mkdir()  # also where there are no locks only one run succeeds
            (path / "steps").mkdir()
            folder = cls(path, lock, resumed=False, made=made)
            undo.pop_all()
        return folder

    @property
    def warnings(self) -> list[str]:
        """What a user should know about the folder."""
        return [self._lock.warning] if self._lock.warning else []

    def next_attempt(self, cell_id: str, repeat: int) -> int:
        """Return one more than the last attempt at a trial that left anything before we opened."""
        rows = self._attempts.get((cell_id, repeat), 0)
        return 1 + max(rows, last_step_attempt(self.path, cell_id, repeat))

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

    def go_on(self, event: EventRow) -> None:
        """Journal that an earlier run goes on, then take away what says how it had ended."""
        self.append(event)
        path = self.path / "status.json"
        with os_errors("remove", path):
            path.unlink(missing_ok=True)

    def step_stream(self, cell_id: str, repeat: int, attempt: int) -> StepStream:
        """Open the stream of one attempt's step rows; use it as a context manager."""
        stream = StepStream(self.path / "steps", cell_id, repeat, attempt)
        self._streams = [known for known in self._streams if not known.closed] + [stream]
        return stream

    def finish(self, status: RunStatus, warnings: Sequence[str] = ()) -> None:
        """Close everything, then write status.json: the last thing a run does."""
        self._close_files()
        content = {
            "status": status,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "trials": dict(self._num_trials),
            "warnings": list(warnings),
        }
        write_json_atomic(self.path / "status.json", content)
        self._lock.release()

    def discard(self) -> None:
        """Leave the folder as it was found: for a run that was refused before its first trial."""
        self._close_files()
        if not self.resumed:
            # the journal last: with it the folder is a run, without it there must be nothing
            for name in ("steps", "journal"):
                shutil.rmtree(self.path / name, ignore_errors=True)
            self._lock.path.unlink(missing_ok=True)
        self._lock.release()
        if self._made:
            with contextlib.suppress(OSError):  # somebody else put something there
                self.path.rmdir()

    def close(self) -> None:
        try:
            self._close_files()
        finally:
            self._lock.release()

    def _close_files(self) -> None:
        with contextlib.ExitStack() as files:
            files.callback(self._journal.close)
            for stream in self._streams:
                files.callback(stream.close)

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
        else:  # what failed first is what to tell
            with contextlib.suppress(ResultsError):
                self.close()


def read_status(run: Path) -> dict[str, Any] | None:
    """Return how the run in folder `run` ended, or None if it has not ended (or was killed)."""
    path = run / "status.json"
    return read_json(path) if path.is_file() else None


def find_runs(folder: Path) -> list[Path]:
    """Return `folder` itself if it is a run folder, else the run folders in it, by name.

    Run folders that psbench names sort by the time they were made.
    """
    if has_manifest(folder):
        return [folder]
    return sorted(path.parent for path in folder.glob("*/manifest.json"))


def _has_content(path: Path) -> bool:
    return path.exists() and any(entry.name != LOCK_FILE for entry in path.iterdir())


def _new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
