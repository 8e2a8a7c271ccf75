"""Cleans up after an embedded Ray, however the run's process ended: `reaper.py FOLDER PID`.

Runs as a process of its own, with stdin a pipe that closes with the run's process, PID. Then it
ends Ray's processes (its agents outlive a driver that was killed) and removes FOLDER. A file open
in FOLDER alone makes nobody one of them: people may be reading its logs.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

MARK = "PSBENCH_RAY_FOLDER"
"""The environment variable by which the processes of an embedded Ray are known."""

_SECONDS = 20.0


def main(folder: Path, owner: int) -> None:
    """Wait for the end of stdin, then clean up; stdout closes when that is done."""
    if os.fork():
        return  # Ray ends the children of a driver that shuts down: be none
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    spared = {os.getpid(), owner}
    sys.stdin.buffer.read()
    deadline = time.monotonic() + _SECONDS
    calm = 0  # what is just starting or ending may be missed, or make a file: look again
    patience = 5 if Path(f"/proc/{owner}").exists() else 50
    while calm < patience and time.monotonic() < deadline:
        left = members(folder) - spared
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        if not left:
            shutil.rmtree(folder, ignore_errors=True)
        calm = calm + 1 if not left and not folder.exists() else 0
        time.sleep(0.1)


def members(folder: Path) -> set[int]:
    """Return the living processes of the embedded Ray in `folder`."""
    mark = f"{MARK}={folder}".encode()
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes() or _is_agent(process, folder):
                found.add(int(process.name))
        except OSError:
            continue
    return found


def _is_agent(process: Path, folder: Path) -> bool:
    """Say whether it is one of Ray's processes with a title, and has a log in `folder` open.

    Its mark may be gone: a title is written over the beginning of the environment, hundreds of
    bytes of it, and Ray starts its agents with the variables in any order.
    """
    if not (process / "cmdline").read_bytes().startswith(b"ray::"):
        return False
    return any(os.readlink(fd).startswith(f"{folder}/") for fd in (process / "fd").iterdir())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
