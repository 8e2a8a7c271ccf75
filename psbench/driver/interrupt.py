"""Ctrl-C and SIGTERM: the first asks the run to end in order, the second ends it at once."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
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
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self._came.is_set()

    def arm(self) -> None:
        """Take the signals."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                before = signal.signal(number, self._handle)
                self._before.setdefault(number, before)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Where there is nothing to save, such as while Ray starts: the first signal ends it.

        Ray puts its own handler in, which leaves by SystemExit; at the end the signals are ours.
        """
        self._at_once = True
        try:
            yield
        except SystemExit as exit_:
            raise KeyboardInterrupt from exit_
        finally:
            self._at_once = False
            self.arm()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._at_once or self._came.is_set():
            self._came.set()
            raise KeyboardInterrupt
        self._came.set()
        self._notice()

    def __enter__(self) -> Self:
        self.arm()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
