"""What moves: collectives written down as data, and what can be told from them without running."""

from psbench.schedules.algorithms import ALGORITHMS, COSTS, schedule_for
from psbench.schedules.execute import execute
from psbench.schedules.ring import ring
from psbench.schedules.schedule import LazyRounds, Round, Schedule
from psbench.schedules.traffic import Traffic, traffic
from psbench.schedules.tree import tree
from psbench.schedules.verify import verify

__all__ = [
    "ALGORITHMS",
    "COSTS",
    "LazyRounds",
    "Round",
    "Schedule",
    "Traffic",
    "execute",
    "ring",
    "schedule_for",
    "traffic",
    "tree",
    "verify",
]
