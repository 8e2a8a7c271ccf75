"""Cleans up after an embedded Ray, however the run's process ended: `reaper.py FOLDER PID`.

Runs as a process of its own, with stdin a pipe that closes with the run's process, PID. Then it
ends what still has files open in FOLDER (Ray's agents outlive a driver that was killed) and removes
it.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

_SECONDS = 20.0


def main(folder: Path, owner: int) -> None:
    """Wait for the end of stdin, then clean up; stdout closes when that is done."""
    if os.fork():
        return  # Ray ends the children of a driver that shuts down: be none
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    spared = {os.getpid(), owner}
    sys.stdin.buffer.read()
    deadline = time.monotonic() + _SECONDS
    while (left := users(folder) - spared) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def users(folder: Path) -> set[int]:
    """Return the processes that have a file in `folder` open."""
    within = f"{folder}{os.sep}"
    return {
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if any(target.startswith(within) for target in open_files(process))
    }


def open_files(process: Path) -> list[str]:
    """Return the paths that a process has open; none of a process that is gone or not ours."""
    targets = []
    try:
        for link in os.scandir(process / "fd"):
            try:
                targets.append(os.readlink(link.path))
            except OSError:
                continue
    except OSError:
        return []
    return targets


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
