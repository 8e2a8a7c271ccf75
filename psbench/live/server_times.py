"""What a server's loop spends its time at."""

import time
from typing import Literal

from psbench.trial import TrialClock

Activity = Literal["waiting", "receiving", "applying", "sending", "keeping"]
"""Waiting for requests; taking pushes in; making versions; answering; keeping copies."""


class ServerTimes:
    """Seconds by activity, of the timed part of a trial."""

    def __init__(self, clock: TrialClock) -> None:
        self._clock = clock
        self._since = time.monotonic()
        self._seconds: dict[Activity, float] = {}

    def lap(self, activity: Activity) -> None:
        """Book all time since the last call; without effect while the clock does not run."""
        now = time.monotonic()
        if self._clock.running:
            self._seconds[activity] = self.of(activity) + now - self._since
        self._since = now

    def of(self, activity: Activity) -> float:
        """Return the seconds booked for an activity."""
        return self._seconds.get(activity, 0.0)
