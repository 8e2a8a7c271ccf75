"""One fully resolved point of a spec."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from psbench.spec.any_strategy import (
    LocalSteps,
    Strategy,
    carrier,
    needs_own_all_reduce,
    strategy_label,
    sums_over_ranks,
)
from psbench.spec.batch import Batch, Count
from psbench.spec.cluster import Cluster, gpus_for
from psbench.spec.cluster_fits import (
    check_cluster,
    gpus_per_worker_of,
    per_host_of,
    servers_of,
)
from psbench.spec.compute import Compute
from psbench.spec.device import check_device, check_nccl, worker_device
from psbench.spec.links import Network, NetworkField
from psbench.spec.messages import MISSING, conflict, show, wrong
from psbench.spec.names import Device, Engine, LrScaling, RealDevice, Reduce, Transport
from psbench.spec.quantities import Duration
from psbench.spec.strategy import Bare, ParameterServer
from psbench.spec.strategy_fits import check_strategy
from psbench.spec.structure import Frozen
from psbench.spec.task import ModelTask, Optimizer, PayloadTask, ProfileTask, Task, Untrained
from psbench.spec.virtual import check_network, check_no_processes, check_virtual
from psbench.units import count

_HAVE_AN_ALL_REDUCE = ("auto", "gloo", "nccl")
_WITHOUT_LEARNING = {"payload": ("compute",), "profile": ("compute", "accumulate")}
_NOT_IN_A_PLAIN_LOOP = ("accumulate", "compute", "eval_every")
Workers = Annotated[int, Field(ge=1, le=65_536)]


def _whether_to_pin(value: Any) -> Any:
    if not isinstance(value, bool) and value != "in_turn":
        raise wrong(f"expected true, false or in_turn, got {show(value)}")
    return value


Pin = Annotated[bool | Literal["in_turn"], BeforeValidator(_whether_to_pin)]


class Target(Frozen):
    """What a trial's evaluation is to reach; measured, it stops nothing."""

    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    """at least this share of right answers"""
    loss: Annotated[float, Field(gt=0)] | None = None
    """at most this loss"""

    @model_validator(mode="after")
    def _one_of_two(self) -> "Target":
        if (self.accuracy is None) == (self.loss is None):
            raise wrong("write either accuracy or loss")
        return self


class Cell(Frozen):
    """One fully resolved point of a spec's matrix.

    Defaults are part of every published cell id: they never change. A validator sees the fields
    declared above its own, so a field stands below those it is checked against.
    """

    task: Task
    """what is trained ({model, optimizer}), timed ({profile}) or moved ({payload})"""
    workers: Workers
    strategy: Strategy
    """how workers agree: a short name or a map"""
    batch: Batch | None = Field(default=None, validate_default=True)
    """samples of one step; needed by a model or a profile, refused for a payload"""
    accumulate: Count = 1
    """micro-batches in which a rank computes its samples of a step, before it communicates once"""
    reduce: Reduce = "mean"
    """mean: over the batch; sum: of the ranks' own means, to show what it does"""
    lr_scaling: LrScaling = "none"
    """how lr grows with the workers whose samples an update rests on"""
    compute: Compute | None = Field(default=None, validate_default=True)
    """how long computing a step takes; null: as long as it does. Needed by a profile"""
    engine: Engine = "live"
    """live: actors that move real bytes; simulated: the same in virtual time"""
    cluster: Cluster | None = Field(default=None, validate_default=True)
    """which processes share a host; null: as Ray places them, in virtual time a host each"""
    device: Device = "auto"
    """what workers compute on; auto: cuda where cluster.gpus_per_worker is set, else cpu"""
    pin: Pin = True
    """hold each process to CPUs of its own, where a host has enough; in_turn: also where processes
    must share them"""
    timeout: Duration | None = None
    """the longest a trial may take, with its unit; null: no limit"""
    steps: Count
    """steps of a trial, warm-up included"""
    warmup: Annotated[int, Field(ge=0)] = 0
    """first steps, which train but are not timed"""
    eval_every: Count | None = None
    """steps between evaluations; null: at the end alone. With local steps a multiple of `every`:
    what is evaluated is what ranks have agreed on"""
    target: Target | None = None
    network: NetworkField | None = Field(default=None, validate_default=True)
    """simulated: the network between ranks, by name or as a map"""
    transport: Transport = "auto"
    """what carries bytes between processes; auto: shared memory on a host, gloo between hosts"""

    @field_validator("strategy")
    @classmethod
    def _fits_what_is_above(cls, strategy: Strategy, info: ValidationInfo) -> Any:
        check_strategy(strategy, info.data.get("task"), info.data.get("workers"))
        return strategy

    @field_validator("accumulate", "reduce", "lr_scaling", "compute", "eval_every", "target")
    @classmethod
    def _has_a_meaning(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        if value == cls.model_fields[name].default:
            return value
        task = info.data.get("task")
        if isinstance(task, Untrained) and name not in _WITHOUT_LEARNING[task.noun]:
            raise conflict(f"a {task.noun} task learns nothing; leave it out")
        if isinstance(info.data.get("strategy"), Bare) and name in _NOT_IN_A_PLAIN_LOOP:
            raise conflict("bare is a plain PyTorch loop and knows no such thing; leave it out")
        return value

    @field_validator("batch")
    @classmethod
    def _batch_fits(cls, batch: Batch | None, info: ValidationInfo) -> Batch | None:
        if "task" not in info.data:
            return batch
        if isinstance(info.data["task"], PayloadTask):
            if batch is not None:
                raise conflict("a payload task has no batch; leave it out")
            return None
        if batch is None:
            raise wrong(MISSING)
        workers = info.data.get("workers")
        if workers and batch.global_ and batch.global_ < workers:
            raise conflict(
                f"a global batch of {batch.global_} is less than {workers} workers;"
                " every rank needs a sample"
            )
        return batch

    @field_validator("accumulate")
    @classmethod
    def _samples_for_each_part(cls, accumulate: int, info: ValidationInfo) -> int:
        batch, workers = info.data.get("batch"), info.data.get("workers")
        if batch and workers:
            fewest = batch.per_worker or batch.global_ // workers
            if accumulate > fewest:
                raise conflict(f"cannot cut {count(fewest, 'sample')} of a rank into {accumulate}")
        return accumulate

    @field_validator("reduce")
    @classmethod
    def _something_to_sum(cls, reduce: Reduce, info: ValidationInfo) -> Reduce:
        strategy = info.data.get("strategy")
        if reduce == "sum" and strategy and not sums_over_ranks(strategy):
            raise conflict(f"{strategy_label(strategy)} sums no gradients of several ranks")
        if reduce == "sum" and isinstance(strategy, ParameterServer) and strategy.backup:
            raise conflict("with backup a version is the mean of those that came in time")
        return reduce

    @field_validator("lr_scaling")
    @classmethod
    def _batch_grows(cls, scaling: LrScaling, info: ValidationInfo) -> LrScaling:
        batch = info.data.get("batch")
        if scaling != "none" and batch and batch.global_:
            raise conflict("batch.global does not grow with the workers; write batch.per_worker")
        return scaling

    @field_validator("compute")
    @classmethod
    def _says_how_long(cls, compute: Compute | None, info: ValidationInfo) -> Compute | None:
        if compute is None and isinstance(info.data.get("task"), ProfileTask):
            raise conflict(
                "missing; a profile says what share of a step each layer computes, and not how long"
                " a step takes: write such as {seconds: 200 ms}"
            )
        return compute

    @field_validator("compute")
    @classmethod
    def _slow_ranks_exist(cls, compute: Compute | None, info: ValidationInfo) -> Compute | None:
        workers: int = info.data.get("workers", 0)
        for slow in compute.slow if compute and workers else ():
            if slow.rank >= workers:
                raise conflict(f"slow: no rank {slow.rank} among {count(workers, 'worker')}")
        return compute

    @field_validator("engine")
    @classmethod
    def _can_run_it(cls, engine: Engine, info: ValidationInfo) -> Engine:
        if engine == "simulated":
            check_virtual(info.data)
        return engine

    @field_validator("cluster")
    @classmethod
    def _hosts_fit(cls, cluster: Cluster | None, info: ValidationInfo) -> Cluster | None:
        check_cluster(cluster, info.data)
        return cluster

    @field_validator("cluster", "device", "pin")
    @classmethod
    def _is_about_processes(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        if info.data.get("engine") == "simulated" and value != cls.model_fields[name].default:
            check_no_processes(value)
        return value

    @field_validator("device")
    @classmethod
    def _device_is_reserved(cls, device: Device, info: ValidationInfo) -> Device:
        if "cluster" in info.data:
            check_device(device, gpus_per_worker_of(info.data["cluster"]))
        return device

    @field_validator("warmup")
    @classmethod
    def _steps_remain(cls, warmup: int, info: ValidationInfo) -> int:
        steps = info.data.get("steps")
        if steps and warmup >= steps:
            raise conflict(f"must be less than steps ({steps}), got {warmup}")
        return warmup

    @field_validator("steps", "warmup")
    @classmethod
    def _ends_with_a_push(cls, steps: int, info: ValidationInfo) -> int:
        strategy = info.data.get("strategy")
        if not isinstance(strategy, LocalSteps):
            return steps
        if isinstance(strategy.over, ParameterServer) and steps % strategy.every:
            raise conflict(
                f"servers count pushes, and workers push every {strategy.every} steps; write a"
                f" multiple of that, not {steps}"
            )
        return steps

    @field_validator("eval_every")
    @classmethod
    def _ranks_agree_then(cls, eval_every: int | None, info: ValidationInfo) -> int | None:
        strategy = info.data.get("strategy")
        if isinstance(strategy, LocalSteps) and eval_every and eval_every % strategy.every:
            raise conflict(
                f"ranks agree every {strategy.every} steps, and there is nothing to evaluate in"
                f" between; write a multiple of that, not {eval_every}"
            )
        return eval_every

    @field_validator("network")
    @classmethod
    def _of_virtual_time(cls, network: Network | None, info: ValidationInfo) -> Network | None:
        if "engine" in info.data:
            check_network(network, info.data["engine"], info.data.get("strategy"))
        return network

    @field_validator("transport")
    @classmethod
    def _carries_the_strategy(cls, transport: Transport, info: ValidationInfo) -> Transport:
        strategy = info.data.get("strategy")
        if info.data.get("engine") == "simulated":
            if transport != "auto":
                raise conflict("nothing carries bytes in virtual time; leave it out")
            return transport
        lacks = transport not in _HAVE_AN_ALL_REDUCE
        if lacks and strategy and needs_own_all_reduce(strategy):
            raise conflict(
                f"{transport} has no all-reduce of its own for {carrier(strategy).kind}; write gloo"
            )
        if transport == "nccl" and strategy and {"cluster", "device"} <= info.data.keys():
            check_nccl(strategy, info.data["device"], gpus_per_worker_of(info.data["cluster"]))
        return transport

    @property
    def global_batch(self) -> int:
        """Samples of one step over all workers; 0 for a payload."""
        if self.batch is None:
            return 0
        if self.batch.per_worker is not None:
            return self.batch.per_worker * self.workers
        assert self.batch.global_ is not None
        return self.batch.global_

    @property
    def servers(self) -> int:
        """Server processes, each with an even part of the vector."""
        served = carrier(self.strategy)
        if not isinstance(served, ParameterServer):
            return 0
        return servers_of(served, self.workers, self.cluster, self.engine)

    @property
    def processes(self) -> int:
        """Workers and servers together."""
        return self.workers + self.servers

    @property
    def cpus_per_process(self) -> int:
        """CPUs reserved for each worker and server; also its compute threads."""
        return self.cluster.cpus_per_worker if self.cluster else 1

    @property
    def cpus(self) -> int:
        """CPUs that all processes take together."""
        return self.processes * self.cpus_per_process

    @property
    def worker_device(self) -> RealDevice:
        """What workers compute on; servers are on the CPU."""
        return worker_device(self.device, self.gpus_per_worker)

    @property
    def gpus_per_worker(self) -> float:
        """GPUs, or the share of one, reserved for each worker."""
        return gpus_per_worker_of(self.cluster)

    @property
    def gpus(self) -> float:
        """GPUs that all workers take together."""
        per_host, share = self.ranks_per_host or self.workers, self.gpus_per_worker
        full, left = divmod(self.workers, per_host)
        return full * gpus_for(per_host, share) + gpus_for(left, share)

    @property
    def ranks_per_host(self) -> int | None:
        """Workers on each logical host but perhaps the last; None where no hosts are asked for, and
        Ray places them. In virtual time each worker then has a host of its own."""
        return per_host_of(self.workers, self.cluster, self.engine)

    @property
    def optimizer(self) -> Optimizer | None:
        """The task's optimiser at the learning rate of this many workers; None without a model.

        `lr` is meant for updates that rest on one worker's samples. Where ranks sum, those of an
        update are `workers` times as many: linear scaling (Goyal et al. 2017) multiplies by that,
        sqrt by its root. Elsewhere an update rests on one worker's samples, whatever the workers.
        """
        if not isinstance(self.task, ModelTask):
            return None
        grown = self.workers if sums_over_ranks(self.strategy) else 1
        factor = {"none": 1.0, "linear": float(grown), "sqrt": grown**0.5}[self.lr_scaling]
        optimizer = self.task.optimizer
        return optimizer.model_copy(update={"lr": optimizer.lr * factor})

    @property
    def label(self) -> str:
        """The strategy and the number of workers, for people: "ring, 4 workers"."""
        return f"{strategy_label(self.strategy)}, {count(self.workers, 'worker')}"
