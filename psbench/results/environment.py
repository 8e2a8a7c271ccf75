"""Where a run ran: versions, source state and machine, found without importing anything heavy."""

import os
import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("psbench", "ray", "torch", "numpy")
_GIT_SECONDS = 5.0


def environment(*, threads: int = 1, clock_uncertainty_s: float | None = 0.0) -> dict[str, Any]:
    """Return what a manifest records about the machine and the software on it.

    `threads` are the compute threads of each node. `clock_uncertainty_s` bounds the error of
    subtracting two nodes' clock readings: 0.0 where all nodes share one kernel, None where it was
    not measured.
    """
    return {
        "versions": versions(),
        "git": git_state(Path(__file__).parent),
        "host": platform.node(),
        "platform": platform.platform(),
        "cpu_model": _cpu_model(),
        "cores": {"count": os.cpu_count(), "available": _available_cores()},
        "memory_bytes": _memory_bytes(),
        "threads": threads,
        "clock_uncertainty_s": clock_uncertainty_s,
    }


def versions() -> dict[str, str | None]:
    """Return the versions of Python and of the packages that decide a result."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the commit of the checkout that tracks `folder`, and whether tracked files differ.

    None where `folder` is not tracked by git (an installed package inside some other checkout is
    not), where git is missing, or where it does not answer within 5 seconds.
    """
    if not _git(folder, "ls-files", "--", "."):
        return None
    status = _git(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    commit = re.search(r"^# branch\.oid ([0-9a-f]+)$", status, re.MULTILINE)
    if commit is None:
        return None
    dirty = any(not line.startswith("#") for line in status.splitlines())
    return {"commit": commit.group(1), "dirty": dirty}


def _git(folder: Path, *arguments: str) -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        result = subprocess.run(  # noqa: S603 (no shell, and every argument is ours)
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout if result.returncode == 0 else ""


def _cpu_model() -> str:
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return model.group(1) if model else platform.processor()


def _available_cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
