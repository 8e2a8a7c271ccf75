"""What steps the centre that ranks agree on now and then."""

from psbench.spec import Sgd
from psbench.strategies import Elastic, Outer


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
