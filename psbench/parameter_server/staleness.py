"""How stale updates are to be, where an experiment says so: the same draws for every engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

_STALENESS = 5  # tells this use of (seed, repeat) apart from others


@dataclass(frozen=True, kw_only=True)
class Staleness:
    """Draws the staleness of an update, which depends on (seed, repeat, update) alone.

    `weights` says how often each staleness, in versions, is drawn, in any unit.
    """

    weights: Mapping[int, float] = field(default_factory=lambda: {0: 1.0})
    seed: int = 0
    repeat: int = 0

    @property
    def most(self) -> int:
        """The greatest that can be drawn."""
        return max(k for k, weight in self.weights.items() if weight > 0)

    def of(self, update: int) -> int:
        """Return the staleness of an update."""
        if len(self.weights) == 1:
            return self.most
        generator = np.random.default_rng([self.seed, self.repeat, _STALENESS, update])
        values = sorted(self.weights)
        ends = np.cumsum([self.weights[k] for k in values])
        return values[int(np.searchsorted(ends, generator.random() * ends[-1], side="right"))]
