"""Ctrl-C: the first asks the run to end in order, the second ends it at once."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interruptible(notice: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Give a function that says whether SIGINT came; `notice()` is called when it first does.

    A second SIGINT raises KeyboardInterrupt where it strikes. Outside the main thread, where no
    handler can be set, the function always says no.
    """
    came = threading.Event()

    def handle(signum: int, frame: object) -> None:
        if came.is_set():
            raise KeyboardInterrupt
        came.set()
        notice()

    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)
