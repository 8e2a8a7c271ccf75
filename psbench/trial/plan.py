"""What a trial's cell names, as objects: its strategy, its servers' rules, its computing times."""

from dataclasses import dataclass, field

from psbench.network import (
    PRESETS,
    PROFILES,
    ComputeTime,
    Link,
    Slowness,
    Stragglers,
    Topology,
    logical_hosts,
    share_computed,
)
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
from psbench.parts import part_sizes
from psbench.spec import (
    ITEM_SIZES,
    AllReduce,
    LinkFigures,
    LocalSteps,
    Network,
    ParameterServer,
    ProfileTask,
    Trial,
    Untrained,
    carrier,
    is_colocated,
    read_network,
)
from psbench.strategies import STRATEGIES, Span, Strategy, shards_of

_NOT_OF_A_STEP = (
    *("kind", "placement", "backup", "bound", "reads", "staleness"),
    *("lr_rule", "clip_norm"),
)


@dataclass(frozen=True, kw_only=True)
class Pick:
    """What `algorithm: auto` and `chunks: auto` stand for; None where the spec says it, or nothing
    is to be said."""

    algorithm: str | None = None
    chunks: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A trial, with what `auto` stands for in it."""

    trial: Trial
    pick: Pick = field(default_factory=Pick)

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

    def shares(self) -> list[float]:
        """Return the part of a global batch that each rank takes; even ones of a batch of none."""
        cell = self.trial.cell
        batch = cell.global_batch
        if batch == 0:
            return [1 / cell.workers] * cell.workers
        return [own / batch for own in part_sizes(batch, cell.workers).tolist()]

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
        stragglers = compute.stragglers
        return ComputeTime(
            seconds=compute.seconds,
            jitter=compute.jitter,
            slow=tuple(
                Slowness(rank=slow.rank, factor=slow.factor, probability=slow.probability)
                for slow in compute.slow
            ),
            stragglers=Stragglers(**stragglers.model_dump()) if stragglers else None,
            seed=self.trial.seed,
            repeat=self.trial.repeat,
        )

    def share_computed(self, start: int, numel: int) -> float:
        """Return the share of that time after which the gradients from element `start` on, of a
        flat vector of `numel`, are known."""
        task = self.trial.cell.task
        if isinstance(task, ProfileTask):
            return PROFILES[task.profile].share_computed(start, numel)
        return share_computed(1.0 - start / numel if numel else 1.0)

    def topology(self) -> Topology:
        """Return the network between the ranks, then the servers, of a trial in virtual time.

        Raises SpecError for a file that cannot be read.
        """
        cell = self.trial.cell
        assert cell.network is not None
        assert cell.ranks_per_host is not None
        between = _link(cell.network)
        return Topology(
            hosts=logical_hosts(
                workers=cell.workers,
                servers=cell.servers,
                ranks_per_host=cell.ranks_per_host,
                colocated=is_colocated(cell.strategy),
            ),
            between=between,
            inside=_link(cell.network.inside) if cell.network.inside else None,
            hosts_per_group=cell.network.hosts_per_group,
            oversubscription=cell.network.oversubscription,
        )


def _link(written: LinkFigures) -> Link:
    """Return a link as it is written, the rest as of its preset or file."""
    if written.preset is not None:
        costs = PRESETS[written.preset].costs()
    elif isinstance(written, Network) and written.file is not None:
        costs = dict(read_network(written.file).link)
    else:
        costs = dict.fromkeys(("latency", "overhead", "byte_time", "reduce_time"), 0.0)
    own = {
        "latency": written.latency,
        "overhead": written.overhead,
        "byte_time": written.bandwidth and 1.0 / written.bandwidth,
        "reduce_time": written.reduce_bandwidth and 1.0 / written.reduce_bandwidth,
    }
    return Link(**{**costs, **{name: value for name, value in own.items() if value is not None}})


def elements(bucket: int | None, itemsize: int) -> int | None:
    """Return the elements that fit into the bytes of a bucket."""
    return None if bucket is None else bucket // itemsize


def untrained_numel(task: Untrained) -> int:
    """Return the elements of a task's flat vector."""
    if isinstance(task, ProfileTask):
        return PROFILES[task.profile].parameters
    return task.payload // ITEM_SIZES[task.dtype]
