"""The algorithms by name."""

from collections.abc import Callable
from difflib import get_close_matches

from psbench.errors import SpecError
from psbench.schedules.direct import cost as direct_cost
from psbench.schedules.direct import direct
from psbench.schedules.double_tree import cost as double_tree_cost
from psbench.schedules.double_tree import double_tree
from psbench.schedules.halving_doubling import cost as halving_doubling_cost
from psbench.schedules.halving_doubling import halving_doubling
from psbench.schedules.hierarchical_leaders import cost as hierarchical_leaders_cost
from psbench.schedules.hierarchical_leaders import hierarchical_leaders
from psbench.schedules.hierarchical_rails import cost as hierarchical_rails_cost
from psbench.schedules.hierarchical_rails import hierarchical_rails
from psbench.schedules.recursive_doubling import cost as recursive_doubling_cost
from psbench.schedules.recursive_doubling import recursive_doubling
from psbench.schedules.ring import cost as ring_cost
from psbench.schedules.ring import ring
from psbench.schedules.schedule import Schedule
from psbench.schedules.star import cost as star_cost
from psbench.schedules.star import star
from psbench.schedules.tree import cost as tree_cost
from psbench.schedules.tree import tree

ALGORITHMS: dict[str, Callable[..., Schedule]] = {
    "ring": ring,
    "tree": tree,
    "double_tree": double_tree,
    "recursive_doubling": recursive_doubling,
    "halving_doubling": halving_doubling,
    "direct": direct,
    "star": star,
    "hierarchical_leaders": hierarchical_leaders,
    "hierarchical_rails": hierarchical_rails,
}
COSTS: dict[str, Callable[..., float]] = {
    "ring": ring_cost,
    "tree": tree_cost,
    "double_tree": double_tree_cost,
    "recursive_doubling": recursive_doubling_cost,
    "halving_doubling": halving_doubling_cost,
    "direct": direct_cost,
    "star": star_cost,
    "hierarchical_leaders": hierarchical_leaders_cost,
    "hierarchical_rails": hierarchical_rails_cost,
}
OPTIONS = {
    "star": ("roots",),
    "hierarchical_leaders": ("ranks_per_host",),
    "hierarchical_rails": ("ranks_per_host",),
}
"""What an algorithm takes besides the world and the number of chunks; those left out: nothing."""


def schedule_for(
    name: str, world: int, num_chunks: int | None = None, **options: int | None
) -> Schedule:
    """Return the schedule of the algorithm `name`; None leaves a choice to it.

    Raises SpecError for an unknown name and for an option the algorithm does not take, and
    ScheduleError for numbers it cannot do with: a world or a number of chunks below 1, say.
    """
    return ALGORITHMS[_known(name)](world, num_chunks, **given_options(name, options))


def given_options(name: str, options: dict[str, int | None]) -> dict[str, int]:
    """Return the `options` that are not None. Raises SpecError where the algorithm takes none."""
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in OPTIONS.get(_known(name), ()):
            takers = [taker for taker, taken in OPTIONS.items() if option in taken]
            verb = "does" if len(takers) == 1 else "do"
            raise SpecError(f"{name} takes no {option}; {', '.join(takers)} {verb}")
    return given


def _known(name: str) -> str:
    if name not in ALGORITHMS:
        close = get_close_matches(name, ALGORITHMS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise SpecError(f"unknown algorithm {name!r}; known: {', '.join(ALGORITHMS)}{hint}")
    return name
