"""What the engine hands to the processes of a trial, and what it gets back from them."""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from psbench.live.counters import Counters
from psbench.live.server_times import ServerTimes
from psbench.results import TrialStatus
from psbench.spec import Trial
from psbench.trial import Pick, Plan

OK: TrialStatus = "ok"
DIVERGED: TrialStatus = "diverged"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A trial as the processes see it; `generation` is unlike that of any other trial."""

    trial: Trial
    generation: int
    folder: str
    """the driver's working directory, where a user's own model and data are looked for"""
    pick: Pick = field(default_factory=Pick)
    """what `auto` stands for"""
    first_step: int = 0
    """where the workers begin: those before were made with servers that have been restored since"""

    @property
    def plan(self) -> Plan:
        """What the trial's cell names."""
        return Plan(trial=self.trial, pick=self.pick)


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a trial went for one process; `samples` and `seconds` are of its timed part, `counters`
    of all its steps, what came before the first left out."""

    status: TrialStatus
    steps: int
    samples: int
    seconds: float
    counters: Counters
    pushes: int | None
    """pushes answered (worker), or applied (server); None without a server"""
    pushes_sent: int | None = None
    pushes_dropped: int = 0
    pushes_left: int = 0
    server_times: ServerTimes | None = None
    peak_memory_bytes: int = 0
    digest: str = ""
    """of the samples this process trained on or evaluates with"""


Row = TypeVar("Row")


@dataclass(frozen=True)
class StepLog(Generic[Row]):
    """What is finished, on its way to the driver: one thread appends, another drains."""

    rows: deque[Row] = field(default_factory=deque)

    def append(self, row: Row) -> None:
        """Add the row of a finished step."""
        self.rows.append(row)

    def drain(self) -> list[Row]:
        """Take out what is there."""
        return [self.rows.popleft() for _ in range(len(self.rows))]
