"""What a rank changes of its vectors by itself, whatever carries bytes between ranks."""

from torch import Tensor

from psbench.spec import Sgd
from psbench.strategies import (
    Apply,
    ApplyOuter,
    Approach,
    Elastic,
    KeepCentre,
    Offer,
    Outer,
    OuterGradient,
)
from psbench.training.centre import Centre
from psbench.training.learner import Learner

Update = Apply | KeepCentre | OuterGradient | Offer | ApplyOuter | Approach
"""The commands of a step that concern the vectors of one rank alone."""


class OwnVectors:
    """A learner's vectors, and the copy of the centre that the rank keeps, where it does."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._centre: Centre | None = None

    @property
    def agreed(self) -> Tensor:
        """The flat vector that the ranks have agreed on, where they have."""
        return self.learner.parameters if self._centre is None else self._centre.parameters

    def update(self, command: Update) -> None:
        """Carry out a command."""
        match command, self._centre:
            case Apply(), centre:
                self.learner.apply()
                if centre is not None:
                    centre.watch()
            case KeepCentre(outer=outer), _:
                self._centre = self.learner.centre(None if outer is None else outer_sgd(outer))
            case OuterGradient(), Centre() as centre:
                centre.outer_gradient()
            case Offer(), Centre() as centre:
                centre.offer()
            case ApplyOuter(), Centre() as centre:
                centre.apply()
            case Approach(rate=rate), Centre() as centre:
                centre.draw(rate)
            case _:
                raise AssertionError(f"{command} without a centre")

    def took_answer(self) -> None:
        """Take note that a server's answer has come into what was agreed on."""
        if self._centre is not None:
            self._centre.tell_loss()


def outer_sgd(outer: Outer) -> Sgd:
    """Return an outer optimiser as a learner takes it."""
    return Sgd(kind="sgd", **vars(outer))


def stepped_by(outer: Outer | Elastic | None) -> Sgd | float | None:
    """Return what a server's store is stepped by, as a learner takes it."""
    match outer:
        case Outer():
            return outer_sgd(outer)
        case Elastic(alpha=alpha):
            return alpha
    return None
