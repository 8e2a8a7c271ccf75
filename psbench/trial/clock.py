"""The timed part of a trial: after the warm-up, copies for evaluation taken out.

Moments are readings of any one clock, in seconds.
"""


class TrialClock:
    """Seconds of timed training. Starts once; pauses while parameters are copied."""

    def __init__(self) -> None:
        self._started: float | None = None
        self._paused = 0.0
        self._stopped: float | None = None

    def start(self, now: float) -> None:
        """Begin timing at `now`."""
        self._started = now

    def stop(self, now: float) -> None:
        """End timing at `now`."""
        self._stopped = now

    def pause(self, seconds: float) -> None:
        """Take out `seconds`; without effect while the clock does not run."""
        if self.running:
            self._paused += seconds

    @property
    def running(self) -> bool:
        """Whether it has started and not stopped."""
        return self._started is not None and self._stopped is None

    def seconds(self, now: float) -> float:
        """Return the seconds timed until `now`, or until it was stopped; 0 before the start."""
        if self._started is None:
            return 0.0
        until = now if self._stopped is None else self._stopped
        return until - self._started - self._paused
