"""The algorithms by name."""

from collections.abc import Callable
from difflib import get_close_matches

from psbench.errors import SpecError
from psbench.schedules.ring import cost as ring_cost
from psbench.schedules.ring import ring
from psbench.schedules.schedule import Schedule
from psbench.schedules.tree import cost as tree_cost
from psbench.schedules.tree import tree

ALGORITHMS: dict[str, Callable[..., Schedule]] = {"ring": ring, "tree": tree}
COSTS: dict[str, Callable[..., float]] = {"ring": ring_cost, "tree": tree_cost}


def schedule_for(name: str, world: int, num_chunks: int | None = None) -> Schedule:
    """Return the schedule of the algorithm `name`; None leaves the number of chunks to it.

    Raises SpecError for an unknown name and ScheduleError for a world or a number of chunks
    below 1.
    """
    if name not in ALGORITHMS:
        close = get_close_matches(name, ALGORITHMS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise SpecError(f"unknown algorithm {name!r}; known: {', '.join(ALGORITHMS)}{hint}")
    return ALGORITHMS[name](world, num_chunks)
