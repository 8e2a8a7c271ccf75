"""How long a rank computes in a step: the same draws for every engine and every strategy."""

import math
from dataclasses import dataclass

import numpy as np

FORWARD_SHARE = 1 / 3
"""of the computing of a step: a backward pass takes about twice as long as a forward pass"""

_COMPUTE = 4  # tells this use of (seed, repeat) apart from others


@dataclass(frozen=True, kw_only=True)
class Slowness:
    """A rank takes `factor` times as long in a step, with the given probability."""

    rank: int
    factor: float
    probability: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ComputeTime:
    """Draws the computing time of a step: `seconds` in the mean, before anyone is slowed.

    `jitter` is the standard deviation over the mean, of a lognormal distribution. A draw depends on
    (seed, repeat, rank, step) alone.
    """

    seconds: float
    jitter: float = 0.0
    slow: tuple[Slowness, ...] = ()
    seed: int = 0
    repeat: int = 0

    def draw(self, rank: int, step: int) -> float:
        """Return the seconds that `rank` computes in `step`."""
        generator = np.random.default_rng([self.seed, self.repeat, _COMPUTE, rank, step])
        seconds = self.seconds * self._lognormal(generator.standard_normal())
        for slow in self.slow:
            # drawn whether or not it is this rank's, so that one entry does not move another
            if generator.random() < slow.probability and slow.rank == rank:
                seconds *= slow.factor
        return seconds

    def _lognormal(self, normal: float) -> float:
        """Return a lognormal value of mean 1 and standard deviation `jitter`."""
        variance = math.log1p(self.jitter**2)
        return math.exp(math.sqrt(variance) * normal - variance / 2)


def share_computed(known: float) -> float:
    """Return the share of a step's computing after which a share of its gradients is known.

    The backward pass comes last and knows gradients, from the last layer to the first, at an even
    pace: elements stand for work where no more is known of a model.
    """
    return FORWARD_SHARE + (1.0 - FORWARD_SHARE) * known
