"""When a trial's loss has run away."""

import math

_FACTOR = 10.0  # over this many times its first value a loss counts as diverged


class Divergence:
    """Watches the losses of a trial: NaN, inf, or over ten times the first."""

    def __init__(self) -> None:
        self._first: float | None = None

    def seen_in(self, loss: float) -> bool:
        """Take the next loss and say whether the trial has diverged."""
        if not math.isfinite(loss):
            return True
        if self._first is None:
            self._first = loss
        return loss > _FACTOR * self._first > 0
