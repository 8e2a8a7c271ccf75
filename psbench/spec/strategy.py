"""How workers agree: the strategies that do so in every step, or never."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from psbench.spec.learning_rates import LrRule, Unchanged
from psbench.spec.messages import MISSING, conflict, show, wrong
from psbench.spec.names import AnyAlgorithm, Consistency, Reads, ServerPlacement, WireDtype
from psbench.spec.quantities import Size
from psbench.spec.staleness import Bound, InjectedStaleness, staleness_map
from psbench.spec.structure import Frozen

NEEDS_HOSTS = ("hierarchical_leaders", "hierarchical_rails")
"""Algorithms that ask which ranks share a host."""

PIPELINED = ("tree", "double_tree")
"""Algorithms whose cost depends on the number of chunks."""

_MOST_SERVERS = 65_536
_SMALLEST_BUCKET = 1024  # bytes; a large model in buckets of a few would take hours a step


def _number_or_auto(value: Any) -> Any:
    """Return a number of chunks as it is; a union of types would blame each of them."""
    if value is None or value == "auto":
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(f"expected a whole number or auto, got {show(value)}")
    if value < 1:
        raise wrong(f"must be at least 1, got {show(value)}")
    return value


def _number_or_workers(value: Any) -> Any:
    if value is None or value == "workers":
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(f"expected a whole number or workers, got {show(value)}")
    if value < 1:
        raise wrong(f"must be at least 1, got {show(value)}")
    if value > _MOST_SERVERS:
        raise wrong(f"must be at most {_MOST_SERVERS}, got {show(value)}")
    return value


Servers = Annotated[int | Literal["workers"] | None, BeforeValidator(_number_or_workers)]
Chunks = Annotated[int | Literal["auto"] | None, BeforeValidator(_number_or_auto)]


def _not_tiny(nbytes: int) -> int:
    if nbytes < _SMALLEST_BUCKET:
        raise wrong(f"must be at least {_SMALLEST_BUCKET} B, got {nbytes} B")
    return nbytes


Bucket = Annotated[Size, AfterValidator(_not_tiny)]


def _needs_buckets(overlap: bool, info: ValidationInfo) -> bool:
    if overlap and info.data.get("bucket", 1) is None:
        raise conflict("there is nothing to overlap with one bucket; set bucket, such as 1 MiB")
    return overlap


Overlap = Annotated[bool, AfterValidator(_needs_buckets)]


class AllReduce(Frozen):
    """All ranks sum their gradients by one of our schedules."""

    kind: Literal["all_reduce"]
    algorithm: AnyAlgorithm
    """auto: the one predicted to be fastest, from what is measured when the run starts"""
    chunks: Chunks = None
    """parts the vector is cut into; null: the algorithm's own choice; auto, for tree and
    double_tree: those that make its pipeline cheapest on the link measured when the run starts"""
    roots: Annotated[int, Field(ge=1, le=65_536)] | None = None
    """ranks that sum a part each, of a star; null: one"""
    bucket: Bucket | None = None
    """the longest part of the vector that is summed at once, such as 25 MiB; null: all of it"""
    overlap: Overlap = False
    """sum a bucket as soon as its gradients are known, while those of others are computed"""
    wire_dtype: WireDtype | None = None
    """what gradients, and the loss with them, are rounded to when they are sent; sums are formed in
    the task's dtype; null: sent as they are"""

    @field_validator("chunks")
    @classmethod
    def _fit_the_algorithm(cls, chunks: Chunks, info: ValidationInfo) -> Chunks:
        algorithm = info.data.get("algorithm")
        if chunks is not None and algorithm == "auto":
            raise conflict("auto goes by each algorithm's own number of chunks; leave it out")
        if chunks == "auto" and algorithm is not None and algorithm not in PIPELINED:
            raise conflict(f"{algorithm} is no pipeline: auto is for {' and '.join(PIPELINED)}")
        return chunks

    @field_validator("roots")
    @classmethod
    def _a_star_has_roots(cls, roots: int | None, info: ValidationInfo) -> int | None:
        algorithm = info.data.get("algorithm", "star")
        if roots is not None and algorithm != "star":
            raise conflict(f"{algorithm} has no roots, only star has; leave it out")
        return roots


_RULES_OF: dict[str, tuple[Consistency, ...]] = {
    "backup": ("synchronous",),
    "bound": ("bounded_staleness",),
    "reads": ("bounded_staleness",),
    "staleness": ("asynchronous",),
    "lr_rule": ("asynchronous", "bounded_staleness"),
}


class ParameterServer(Frozen):
    """Workers push gradients to servers, each of which keeps an even part of the vector, and pull
    parameters from them."""

    kind: Literal["parameter_server"]
    consistency: Consistency
    """synchronous: a version needs every worker's gradient; asynchronous: each push makes one;
    bounded_staleness: so too, but a worker too far ahead of the slowest waits (SSP)"""
    backup: Annotated[int, Field(ge=0)] = 0
    """synchronous: so many of the workers are not waited for; a gradient that comes too late for
    its version is dropped"""
    bound: Bound | None = Field(default=None, validate_default=True)
    """bounded_staleness: steps that a worker may be ahead of the slowest, or inf"""
    reads: Reads = "latest"
    """bounded_staleness: what workers are given: latest, the parameters as they stand; clock,
    those after the last step that all have pushed"""
    staleness: Annotated[
        InjectedStaleness | None,
        BeforeValidator(staleness_map, json_schema_input_type=int | InjectedStaleness | None),
    ] = None
    """asynchronous: how stale each update is made to be, in versions, such as 4 or {versions: [0,
    8], weights: [3, 1]}: workers then push in turn; null: as it comes"""
    lr_rule: LrRule = Unchanged(kind="none")
    """asynchronous, bounded_staleness: what the delay of a gradient does to its step, by name or as
    a map with the rule's own fields"""
    servers: Servers = None
    """workers: as many as these; null: one; if colocated, one on each host of the workers"""
    placement: ServerPlacement = "dedicated"
    """dedicated: on hosts of their own; colocated: on the workers' hosts, in turn"""
    bucket: Bucket | None = None
    """the longest part of the vector that is pushed at once, such as 25 MiB, and that the server
    keeps, applies and sends by itself; null: all of it"""
    overlap: Overlap = False
    """push a bucket as soon as its gradients are known, while those of others are computed"""
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    """the longest that a gradient may be, by its 2-norm, when the server steps with it; longer ones
    are scaled down to that; null: all are taken as they are"""

    @field_validator(*_RULES_OF)
    @classmethod
    def _belongs_to_the_rule(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        owners, consistency = _RULES_OF[name], info.data.get("consistency")
        if consistency is None:
            return value
        if name == "bound" and value is None and consistency in owners:
            raise wrong(MISSING)
        if value != cls.model_fields[name].default and consistency not in owners:
            whose = " and ".join(owners)
            raise conflict(f"only {whose} servers have it, and these are {consistency}")
        return value

    @field_validator("clip_norm")
    @classmethod
    def _one_shard_has_all(cls, clip_norm: float | None, info: ValidationInfo) -> float | None:
        parts = "it is by the norm of the whole vector, and these servers' shards are parts of it"
        if clip_norm is not None and info.data.get("servers") not in (None, "workers", 1):
            raise conflict(f"{parts}; write servers: 1")
        if clip_norm is not None and info.data.get("bucket") is not None:
            raise conflict(f"{parts}; leave bucket out")
        return clip_norm


class Native(Frozen):
    """The transport's own all-reduce, to measure ours against."""

    kind: Literal["native"]
    bucket: Bucket | None = None
    """the longest part of the vector that is summed at once, such as 25 MiB; null: all of it"""
    overlap: Overlap = False
    """sum a bucket as soon as its gradients are known, while those of others are computed"""


class Ddp(Frozen):
    """PyTorch's DistributedDataParallel, to measure ours against: it sums buckets by the backend's
    own all-reduce while it computes."""

    kind: Literal["ddp"]
    bucket: Bucket | None = None
    """its bucket_cap_mb, as a size; null: its own default"""


class NoSync(Frozen):
    """No synchronisation: each rank trains alone."""

    kind: Literal["none"]


class Bare(Frozen):
    """One process in a plain PyTorch loop: what `none` with one worker costs beyond it is ours."""

    kind: Literal["bare"]
