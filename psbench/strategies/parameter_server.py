"""Through servers: push the gradients, and go on with the parameters that come back."""

from psbench.parameter_server import RULES
from psbench.strategies.commands import (
    Pull,
    Push,
    Reduce,
    Shard,
    Span,
    buckets,
    even_spans,
)
from psbench.strategies.strategy import Strategy, compute_and_send, together


def parameter_server(
    *,
    world: int,
    numel: int,
    servers: int,
    consistency: str,
    bucket: int | None = None,
    overlap: bool = False,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Push every shard and go on with the answers, which the servers' rule gives when it will.

    A server's part of the vector is one shard, or as many as there are buckets in it.
    """
    # a backward pass begins with the last layers
    shards = shards_of(numel, servers, bucket)[::-1]
    summed = reduce if RULES[consistency].sums_shares else None
    pushes = [(shard.span, Push(shard=shard)) for shard in shards]
    return Strategy(
        start=lambda: together(Pull(shard=shard) for shard in shards),
        step=lambda _: compute_and_send(accumulate, summed, pushes, overlap=overlap),
        served=True,
    )


def shards_of(numel: int, servers: int, bucket: int | None = None) -> tuple[Shard, ...]:
    """Return all shards in the order of the vector; each server keeps an even part of it, cut into
    shards of at most `bucket` elements."""
    return tuple(
        Shard(
            server=part.index,
            span=Span(index=span.index, start=part.start + span.start, stop=part.start + span.stop),
        )
        for part in even_spans(numel, servers)
        for span in buckets(part.stop - part.start, bucket)
    )
