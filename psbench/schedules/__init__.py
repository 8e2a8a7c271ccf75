"""What moves: collectives written down as data, and what can be told from them without running."""

from psbench.schedules.algorithms import ALGORITHMS, COSTS, OPTIONS, schedule_for
from psbench.schedules.chunks import PIPELINED, pipelined_chunks
from psbench.schedules.direct import direct
from psbench.schedules.double_tree import double_tree
from psbench.schedules.execute import execute
from psbench.schedules.halving_doubling import halving_doubling
from psbench.schedules.hierarchical_leaders import hierarchical_leaders
from psbench.schedules.hierarchical_rails import hierarchical_rails
from psbench.schedules.recursive_doubling import recursive_doubling
from psbench.schedules.ring import ring
from psbench.schedules.schedule import LazyRounds, Round, Schedule
from psbench.schedules.star import star
from psbench.schedules.traffic import Traffic, traffic
from psbench.schedules.tree import tree
from psbench.schedules.verify import verify

__all__ = [
    "ALGORITHMS",
    "COSTS",
    "OPTIONS",
    "PIPELINED",
    "LazyRounds",
    "Round",
    "Schedule",
    "Traffic",
    "direct",
    "double_tree",
    "execute",
    "halving_doubling",
    "hierarchical_leaders",
    "hierarchical_rails",
    "pipelined_chunks",
    "recursive_doubling",
    "ring",
    "schedule_for",
    "star",
    "traffic",
    "tree",
    "verify",
]
