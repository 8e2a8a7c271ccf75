"""How long a rank computes in a step: the same draws for every engine and every strategy."""

import math
from dataclasses import dataclass

import numpy as np

FORWARD_SHARE = 1 / 3
"""of the computing of a step: a backward pass takes about twice as long as a forward pass"""

_COMPUTE, _STRAGGLERS = 4, 6  # tell these uses of (seed, repeat) apart from others
_NANOSECONDS = 1e9


@dataclass(frozen=True, kw_only=True)
class Slowness:
    """A rank takes `factor` times as long in a step, with the given probability."""

    rank: int
    factor: float
    probability: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Stragglers:
    """A step of any rank takes longer with the given probability, by a factor of its own.

    That is Pareto's, at least 1 and more than x with probability x ** -shape, but `most` at most.
    """

    probability: float
    shape: float
    most: float = 100.0

    def factor(self, uniform: float) -> float:
        """Return the factor at a quantile `uniform`, of [0, 1)."""
        # by logarithms: a power of so small a number may overflow
        exponent = -math.log1p(-uniform) / self.shape
        return self.most if exponent >= math.log(self.most) else math.exp(exponent)


@dataclass(frozen=True, kw_only=True)
class ComputeTime:
    """Draws the computing time of a step: `seconds` in the mean, before anyone is slowed.

    `jitter` is the standard deviation over the mean, of a lognormal distribution. A draw depends on
    (seed, repeat, rank, step) alone, and is of whole nanoseconds: the last bits of exp and log
    differ between processors.
    """

    seconds: float
    jitter: float = 0.0
    slow: tuple[Slowness, ...] = ()
    stragglers: Stragglers | None = None
    seed: int = 0
    repeat: int = 0

    def draw(self, rank: int, step: int) -> float:
        """Return the seconds that `rank` computes in `step`; in about a microsecond where no chance
        is involved."""
        seconds = self.seconds
        own = self.slow and [slow for slow in self.slow if slow.rank == rank]
        if self.jitter or (own and any(slow.probability < 1 for slow in own)):
            seconds *= self._drawn(rank, step)
        else:
            for slow in own:
                seconds *= slow.factor
        if self.stragglers is not None:
            seconds *= self._straggling(self.stragglers, rank, step)
        return round(seconds * _NANOSECONDS) / _NANOSECONDS

    def _drawn(self, rank: int, step: int) -> float:
        """Return the factor by jitter and slowness."""
        generator = self._generator(_COMPUTE, rank, step)
        factor = self._lognormal(generator.standard_normal())
        # drawn whether or not it is this rank's, so that one entry does not move another
        chances = generator.random(len(self.slow)).tolist()
        for slow, chance in zip(self.slow, chances, strict=True):
            if chance < slow.probability and slow.rank == rank:
                factor *= slow.factor
        return factor

    def _straggling(self, stragglers: Stragglers, rank: int, step: int) -> float:
        chance, uniform = self._generator(_STRAGGLERS, rank, step).random(2).tolist()
        return stragglers.factor(uniform) if chance < stragglers.probability else 1.0

    def _generator(self, use: int, rank: int, step: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.repeat, use, rank, step])

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
