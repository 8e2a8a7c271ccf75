"""What the engine hands to the processes of a trial, and what it gets back from them."""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from torch import Tensor

from psbench.live.counters import Counters
from psbench.live.server_times import ServerTimes
from psbench.network import ComputeTime, Slowness
from psbench.parameter_server import (
    LEARNING_RATES,
    Asynchronous,
    BoundedStaleness,
    InTurn,
    LearningRate,
    Rule,
    Staleness,
    Synchronous,
)
from psbench.results import TrialStatus
from psbench.spec import AllReduce, LocalSteps, ParameterServer, Trial, carrier
from psbench.strategies import STRATEGIES, Span, Strategy, shards_of

_NOT_OF_A_STEP = (
    *("kind", "placement", "backup", "bound", "reads", "staleness"),
    *("lr_rule", "clip_norm"),
)

OK: TrialStatus = "ok"
DIVERGED: TrialStatus = "diverged"


@dataclass(frozen=True, kw_only=True)
class Pick:
    """What `algorithm: auto` and `chunks: auto` stand for; None where the spec says it, or nothing
    is to be said."""

    algorithm: str | None = None
    chunks: int | None = None


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

    def strategy(self, numel: int, itemsize: int) -> Strategy:
        """Build the trial's strategy for flat vectors of `numel` elements of `itemsize` bytes."""
        cell = self.trial.cell
        sums = carrier(cell.strategy)
        options = sums.model_dump(exclude=set(_NOT_OF_A_STEP))
        options |= {key: value for key, value in vars(self.pick).items() if value is not None}
        if "bucket" in options:
            options["bucket"] = elements(options["bucket"], itemsize)
        if cell.servers:
            options["servers"] = cell.servers
        if isinstance(sums, AllReduce):
            options["ranks_per_host"] = cell.ranks_per_host
        if isinstance(cell.strategy, LocalSteps):
            del options["overlap"]  # never asked for
            over = {"kind": sums.kind, **options}
            own = cell.strategy.model_dump(exclude={"kind", "over"})
            options = {**own, "over": over, "steps": cell.steps}
        options |= {"accumulate": cell.accumulate, "reduce": cell.reduce}
        return STRATEGIES[cell.strategy.kind](world=cell.workers, numel=numel, **options)

    def rule(self) -> Rule:
        """Build the consistency rule of the trial's servers."""
        strategy = carrier(self.trial.cell.strategy)
        assert isinstance(strategy, ParameterServer)
        match strategy.consistency:
            case "synchronous":
                return Synchronous(backup=strategy.backup)
            case "bounded_staleness":
                assert strategy.bound is not None
                return BoundedStaleness(bound=float(strategy.bound), reads=strategy.reads)
        if strategy.staleness is None:
            return Asynchronous()
        versions = strategy.staleness.versions
        weights = strategy.staleness.weights or (1.0,) * len(versions)
        return InTurn(
            staleness=Staleness(
                weights=dict(zip(versions, weights, strict=True)),
                seed=self.trial.seed,
                repeat=self.trial.repeat,
            )
        )

    def learning_rate(self) -> LearningRate:
        """Build the learning-rate rule of the trial's servers."""
        strategy = carrier(self.trial.cell.strategy)
        assert isinstance(strategy, ParameterServer)
        options = strategy.lr_rule.model_dump(exclude={"kind"})
        return LEARNING_RATES[strategy.lr_rule.kind](**options)

    def server_spans(self, numel: int, itemsize: int, server: int) -> list[Span]:
        """Return the shards of a server, of flat vectors as of `strategy`."""
        cell = self.trial.cell
        strategy = carrier(cell.strategy)
        assert isinstance(strategy, ParameterServer)
        bucket = elements(strategy.bucket, itemsize)
        shards = shards_of(numel, cell.servers, bucket)
        return [shard.span for shard in shards if shard.server == server]

    def compute_time(self) -> ComputeTime | None:
        """Return how long computing is to take; None where it takes as long as it does."""
        compute = self.trial.cell.compute
        if compute is None:
            return None
        return ComputeTime(
            seconds=compute.seconds,
            jitter=compute.jitter,
            slow=tuple(
                Slowness(rank=slow.rank, factor=slow.factor, probability=slow.probability)
                for slow in compute.slow
            ),
            seed=self.trial.seed,
            repeat=self.trial.repeat,
        )


def elements(bucket: int | None, itemsize: int) -> int | None:
    """Return the elements that fit into the bytes of a bucket."""
    return None if bucket is None else bucket // itemsize


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A copy of the parameters for evaluation after the trial.

    `step` counts versions in steps of all workers; `samples` are those trained on by then;
    `seconds` is timed training until then, copying excluded.
    """

    step: int
    samples: int
    seconds: float
    parameters: Tensor


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
