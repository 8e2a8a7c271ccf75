"""Peer to peer: sum the gradients over all ranks, then every rank steps its own optimiser."""

from collections.abc import Sequence

from psbench.schedules import OPTIONS, schedule_for
from psbench.strategies.commands import (
    AllReduce,
    Apply,
    ComputeByDdp,
    Reduce,
    Span,
    WireDtype,
    buckets,
)
from psbench.strategies.strategy import Step, Strategy, compute_and_send


def all_reduce(
    *,
    world: int,
    numel: int,
    algorithm: str,
    chunks: int | None = None,
    roots: int | None = None,
    ranks_per_host: int | None = None,
    bucket: int | None = None,
    overlap: bool = False,
    wire_dtype: WireDtype | None = None,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Sum by one of our own schedules; the options are those of `sums_by_schedule`."""
    sums = sums_by_schedule(
        world=world,
        numel=numel,
        algorithm=algorithm,
        chunks=chunks,
        roots=roots,
        ranks_per_host=ranks_per_host,
        bucket=bucket,
        wire_dtype=wire_dtype,
    )
    return Strategy(step=lambda _: _step(sums, overlap, accumulate, reduce))


def native(
    *,
    world: int,
    numel: int,
    bucket: int | None = None,
    overlap: bool = False,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Sum by the backend's own all-reduce: the outside reference."""
    sums = sums_by_backend(world=world, numel=numel, bucket=bucket)
    return Strategy(step=lambda _: _step(sums, overlap, accumulate, reduce))


def ddp(
    *,
    world: int,
    numel: int,
    bucket: int | None = None,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Leave computing and summing to PyTorch's DistributedDataParallel: the other reference."""
    return Strategy(step=lambda _: _ddp_step(bucket, accumulate, reduce))


def sums_by_schedule(
    *,
    world: int,
    numel: int,
    algorithm: str,
    chunks: int | None = None,
    roots: int | None = None,
    ranks_per_host: int | None = None,
    bucket: int | None = None,
    wire_dtype: WireDtype | None = None,
) -> list[AllReduce]:
    """Return what sums the whole vector by one of our own schedules.

    `ranks_per_host` says where ranks are (None: all on one host); most algorithms do not care.
    """
    hosts = ranks_per_host if "ranks_per_host" in OPTIONS.get(algorithm, ()) else None
    schedule = schedule_for(algorithm, world, chunks, roots=roots, ranks_per_host=hosts)
    return [
        AllReduce(bucket=span, schedule=schedule, wire_dtype=wire_dtype)
        for span in _back_to_front(numel, bucket)
    ]


def sums_by_backend(*, world: int, numel: int, bucket: int | None = None) -> list[AllReduce]:
    """Return what sums the whole vector by the backend's own all-reduce."""
    return [AllReduce(bucket=span, schedule=None) for span in _back_to_front(numel, bucket)]


def _back_to_front(numel: int, most: int | None) -> tuple[Span, ...]:
    """Return the buckets, the last one first: a backward pass begins with the last layers."""
    return buckets(numel, most)[::-1]


def _step(sums: Sequence[AllReduce], overlap: bool, accumulate: int, reduce: Reduce) -> Step:
    sends = [(command.bucket, command) for command in sums]
    yield from compute_and_send(accumulate, reduce, sends, overlap=overlap)
    yield Apply()


def _ddp_step(bucket: int | None, accumulate: int, reduce: Reduce) -> Step:
    for part in range(accumulate):
        yield ComputeByDdp(reduce=reduce, part=part, parts=accumulate, bucket=bucket)
    yield Apply()
