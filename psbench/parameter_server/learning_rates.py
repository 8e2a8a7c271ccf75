"""Learning rates of asynchronous servers: what the delay of a push does to the step made of it."""

from dataclasses import dataclass, field
from typing import Any, Protocol

_EPS = 1e-7  # of Zheng et al.


@dataclass(kw_only=True)
class Compensation:
    """Corrects gradients that are late, by a guess at how they changed meanwhile (DC-ASGD, Zheng et
    al. 2017): the diagonal of the loss's second derivative is taken to be `strength` times the
    gradient squared.

    With a `decay` the strength is adapted, element by element: it is divided by the root of a
    moving average of the squared gradients. That average is of one shard; it is one vector more.
    Vectors are numpy's or torch's.
    """

    strength: float
    decay: float | None = None
    _mean_square: Any = field(default=0.0, repr=False)

    def corrected(self, gradient: Any, now: Any, pulled: Any) -> Any:
        """Return what a gradient at the parameters `pulled` may be at `now`. None is changed."""
        strength: Any = self.strength
        square = gradient * gradient
        if self.decay is not None:
            self._mean_square = self.decay * self._mean_square + (1 - self.decay) * square
            strength = strength / (self._mean_square + _EPS) ** 0.5
        return gradient + strength * square * (now - pulled)

    def snapshot(self) -> Any:
        """Return the moving average, which does not change from now on."""
        return self._mean_square

    def restore(self, mean_square: Any) -> None:
        """Take up what `snapshot` gave."""
        self._mean_square = mean_square


class LearningRate(Protocol):
    """A learning-rate rule: pure, and without a state of its own."""

    def factor(self, staleness: int, workers: int) -> float:
        """Return what the rate is multiplied by for the step of one push."""

    def compensation(self) -> Compensation | None:
        """Return what corrects the gradients of one shard; None where they are taken as they
        are."""


@dataclass(frozen=True)
class Unchanged:
    """The rate that the spec says, however stale the gradient."""

    def factor(self, staleness: int, workers: int) -> float:
        return 1.0

    def compensation(self) -> None:
        return None


@dataclass(frozen=True)
class InverseWorkers:
    """The rate over the number of workers: all of them together move the parameters as far as one
    mean of their gradients would."""

    def factor(self, staleness: int, workers: int) -> float:
        return 1.0 / workers

    def compensation(self) -> None:
        return None


@dataclass(frozen=True)
class StalenessAware:
    """The rate over the staleness (Zhang et al. 2016); what is not stale is taken at the full
    rate."""

    def factor(self, staleness: int, workers: int) -> float:
        return 1.0 / max(1, staleness)

    def compensation(self) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class DelayCompensated:
    """DC-ASGD-c: the rate as it is, and gradients corrected by a constant strength."""

    strength: float

    def factor(self, staleness: int, workers: int) -> float:
        return 1.0

    def compensation(self) -> Compensation:
        return Compensation(strength=self.strength)


@dataclass(frozen=True, kw_only=True)
class AdaptivelyDelayCompensated:
    """DC-ASGD-a: the rate as it is, and gradients corrected by a strength adapted to each
    element."""

    strength: float
    decay: float

    def factor(self, staleness: int, workers: int) -> float:
        return 1.0

    def compensation(self) -> Compensation:
        return Compensation(strength=self.strength, decay=self.decay)


LEARNING_RATES: dict[
    str,
    type[Unchanged]
    | type[InverseWorkers]
    | type[StalenessAware]
    | type[DelayCompensated]
    | type[AdaptivelyDelayCompensated],
] = {
    "none": Unchanged,
    "inverse_workers": InverseWorkers,
    "staleness_aware": StalenessAware,
    "delay_compensated": DelayCompensated,
    "delay_compensated_adaptive": AdaptivelyDelayCompensated,
}
"""By the names a spec gives them."""
