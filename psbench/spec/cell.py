"""One fully resolved point of a spec."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from psbench.spec.messages import MISSING, conflict, wrong
from psbench.spec.names import Engine, Transport
from psbench.spec.strategy import ParameterServer, Strategy, strategy_label
from psbench.spec.structure import Frozen
from psbench.spec.task import PayloadTask, Task
from psbench.units import count

Count = Annotated[int, Field(ge=1)]
Workers = Annotated[int, Field(ge=1, le=65_536)]


class Batch(Frozen):
    """Samples of one step: for each worker, or for all of them together."""

    per_worker: Count | None = None
    """samples a worker (weak scaling)"""
    global_: Count | None = Field(default=None, alias="global")
    """samples of all workers together (strong scaling)"""

    @model_validator(mode="after")
    def _one_of_two(self) -> "Batch":
        if (self.per_worker is None) == (self.global_ is None):
            raise wrong("write either per_worker or global")
        return self


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
    """what is trained ({model, optimizer}) or moved ({payload})"""
    workers: Workers
    strategy: Strategy
    """how workers agree: a short name or a map"""
    batch: Batch | None = Field(default=None, validate_default=True)
    """samples of one step; needed by a model, refused for a payload"""
    steps: Count
    """steps of a trial, warm-up included"""
    warmup: Annotated[int, Field(ge=0)] = 0
    """first steps, which train but are not timed"""
    eval_every: Count | None = None
    """steps between evaluations; null: at the end alone"""
    target: Target | None = None
    engine: Engine = "live"
    transport: Transport = "auto"
    """what carries bytes between processes"""

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

    @field_validator("warmup")
    @classmethod
    def _steps_remain(cls, warmup: int, info: ValidationInfo) -> int:
        steps = info.data.get("steps")
        if steps and warmup >= steps:
            raise conflict(f"must be less than steps ({steps}), got {warmup}")
        return warmup

    @field_validator("eval_every", "target")
    @classmethod
    def _something_to_evaluate(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and isinstance(info.data.get("task"), PayloadTask):
            raise conflict("a payload task has nothing to evaluate; leave it out")
        return value

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
        """Dedicated server processes."""
        return 1 if isinstance(self.strategy, ParameterServer) else 0

    @property
    def processes(self) -> int:
        """Workers and servers together; each takes a logical CPU."""
        return self.workers + self.servers

    @property
    def label(self) -> str:
        """The strategy and the number of workers, for people: "ring, 4 workers"."""
        return f"{strategy_label(self.strategy)}, {count(self.workers, 'worker')}"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One repeat of a cell.

    `repeat` counts from 0; `seed` is the spec's. Initial parameters and batches depend on
    (seed, repeat, step) alone.
    """

    cell: Cell
    repeat: int
    seed: int
