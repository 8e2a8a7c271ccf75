"""Writing files so that a reader never sees half of one, and saying plainly when it fails."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from psbench.errors import ResultsError

_TEMPORARY = ".tmp"


@contextmanager
def os_errors(action: str, path: Path) -> Iterator[None]:
    """Turn an OSError inside into a one-line ResultsError: cannot `action` `path`, and why."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResultsError(
            f"cannot {action} {path}: {reason}; results need a writable folder with free space"
        ) from error


def write_json_atomic(path: Path, content: dict[str, Any]) -> None:
    """Write `content` to `path` so that it is there wholly or not at all, crash or not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_TEMPORARY}")
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with os_errors("write", path):
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def remove_temporary(folder: Path) -> None:
    """Remove what a killed `write_json_atomic` left in `folder`."""
    for path in folder.glob(f".*.json.*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in `path`; raises ResultsError, naming the file, for anything else."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is damaged: {error}; it should hold one JSON object") from error
    if not isinstance(content, dict):
        raise ResultsError(f"{path} is damaged: it should hold one JSON object")
    return content
