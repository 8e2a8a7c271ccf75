"""One writer a folder: a lock that the kernel takes back, however its holder ends."""

import errno
import os
import platform
from pathlib import Path

from psbench.errors import ResultsError
from psbench.results.files import os_errors

LOCK_FILE = "writer.lock"

_CANNOT_LOCK = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


class WriterLock:
    """Held by the one process that writes a folder; readers never ask for it.

    Making one takes it: ResultsError, with the other's pid and host, where another process has it.
    No child inherits it. Where the file system has no locks, `warning` says so.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK_FILE
        self.warning: str | None = None
        with os_errors("lock", self.path):
            self._descriptor = self._open()
            holder = f"{os.getpid()} {platform.node()}\n".encode()
            os.ftruncate(self._descriptor, os.pwrite(self._descriptor, holder, 0))

    def release(self) -> None:
        """Give it back; the file stays, and says who was the last."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _open(self) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                self._take(descriptor)
                if os.fstat(descriptor).st_nlink:
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its last holder removed it between our open and our lock

    def _take(self, descriptor: int) -> None:
        import fcntl  # not on every system where results are read

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(f"{self.path.parent} {_is_written_by(self.path)}") from None
        except OSError as error:
            if error.errno not in _CANNOT_LOCK:
                raise
            self.warning = (
                f"the file system of {self.path.parent} has no locks: see that no other process "
                "writes this run"
            )


def refuse_written(folder: Path) -> None:
    """Raise ResultsError where another process writes `folder`; changes nothing in it."""
    import fcntl

    path = folder / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ResultsError(f"{folder} {_is_written_by(path)}") from None
    except OSError:
        return
    finally:
        os.close(descriptor)


def _is_written_by(path: Path) -> str:
    pid, _, host = path.read_text(encoding="utf-8", errors="replace").strip().partition(" ")
    who = f"process {pid} on {host}" if host else "another process"
    return f"is being written by {who}; wait until that ends, or name another folder"
