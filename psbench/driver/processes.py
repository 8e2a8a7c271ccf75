"""Calls carried out in processes of our own, side by side.

Not by `multiprocessing`, which would run the user's own script again in each of them.
"""

import contextlib
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import IO, Any

from psbench.errors import TrialError

_LENGTH = struct.Struct("<q")


class Processes(Executor):
    """So many processes at most, each started when it is first needed; a call's function is one
    that can be imported. They end with this executor, and with this process, however that ends."""

    def __init__(self, most: int) -> None:
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="psbench-process")
        self._own = threading.local()
        self._started: list[subprocess.Popen[bytes]] = []

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        return self._threads.submit(self._carry_out, call, arguments, named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes; calls under way fail."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._started:
            process.kill()
        for process in self._started:
            with process:  # closes the pipes, and waits for it
                pass
        self._threads.shutdown(wait=wait)

    def _carry_out(self, call: Callable[..., Any], arguments: Any, named: Any) -> Any:
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            write(process.stdin, (call, arguments, named))
            succeeded, result = read(process.stdout)
        except (OSError, EOFError) as error:
            self._own.process = None
            raise TrialError(
                "the process that simulated it ended: it was killed, or ran out of memory"
            ) from error
        if not succeeded:
            raise result
        return result

    def _process(self) -> subprocess.Popen[bytes]:
        """Return the process of this thread."""
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if process is None:
            process = subprocess.Popen(
                [sys.executable, "-m", "psbench.driver.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0,  # what ends our whole group is for us to hear, and to end them
            )
            self._started.append(process)
            self._own.process = process
        return process


def write(pipe: IO[bytes], message: Any) -> None:
    """Write a message, and flush it."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(content)) + content)
    pipe.flush()


def read(pipe: IO[bytes]) -> Any:
    """Return the next message; EOFError where there is none any more."""
    with contextlib.suppress(struct.error):
        (length,) = _LENGTH.unpack(pipe.read(_LENGTH.size))
        content = pipe.read(length)
        if len(content) == length:
            return pickle.loads(content)  # noqa: S301 - our own process wrote it
    raise EOFError
