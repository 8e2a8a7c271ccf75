"""Events in virtual time."""

import heapq
from collections.abc import Callable
from typing import Any

_Event = tuple[float, int, Callable[[Any], object], Any]

_LATER = 1 << 62  # a place behind all that has not been put off


class EventQueue:
    """Events in the order of their moments; those of one moment in the order in which they were
    scheduled, but for those that wait until all others of that moment have happened."""

    def __init__(self) -> None:
        self.now = 0.0
        """s; the moment of what is happening"""
        self.happened = 0
        """events so far"""
        self._heap: list[_Event] = []
        self._scheduled = 0

    def at(self, moment: float, happens: Callable[[Any], object], argument: Any) -> None:
        """Call `happens(argument)` at a moment that has not passed."""
        self._scheduled = place = self._scheduled + 1
        heapq.heappush(self._heap, (moment, place, happens, argument))

    def after_all_now(self, happens: Callable[[Any], object], argument: Any) -> None:
        """Call `happens(argument)` once all has happened that is scheduled, or will be, for this
        moment."""
        self._scheduled = place = self._scheduled + 1
        heapq.heappush(self._heap, (self.now, _LATER + place, happens, argument))

    def run(self, most: int | None = None) -> bool:
        """Let `most` events happen, or all that there are; say whether some are left."""
        heap, pop = self._heap, heapq.heappop
        left = -1 if most is None else most
        while heap and left:
            self.now, _, happens, argument = pop(heap)
            happens(argument)
            left -= 1
        self.happened += (-1 if most is None else most) - left
        return bool(heap)
