"""Ctrl-C and SIGTERM: the first asks the run to end in order, the second ends it at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Says, when called, whether a signal came. A context manager that puts the handlers back.

    `notice()` is called when the first comes; a second raises KeyboardInterrupt where it strikes.
    Outside the main thread, where no handler can be set, it always says no.
    """

    def __init__(self, notice: Callable[[], None]) -> None:
        self._notice = notice
        self._came = threading.Event()
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self._came.is_set()

    def arm(self) -> None:
        """Take the signals; once more where a library has put its own handlers in between."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                before = signal.signal(number, self._handle)
                self._before.setdefault(number, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._came.is_set():
            raise KeyboardInterrupt
        self._came.set()
        self._notice()

    def __enter__(self) -> Self:
        self.arm()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
