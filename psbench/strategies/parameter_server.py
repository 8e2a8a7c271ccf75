"""Through servers: push the gradients, and go on with the parameters that come back."""

from psbench.parameter_server import RULES
from psbench.strategies.commands import Pull, Push, Reduce, Span, Wait, even_spans
from psbench.strategies.strategy import Step, Strategy, compute


def parameter_server(
    *,
    world: int,
    numel: int,
    servers: int,
    consistency: str,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Push every shard and go on with the answers, which the servers' rule gives when it will."""
    shards = shard_spans(numel, servers)
    summed = reduce if RULES[consistency]().waits_for_all else None
    return Strategy(
        start=lambda: _start(shards),
        step=lambda: _step(accumulate, summed, shards),
        served=True,
    )


def shard_spans(numel: int, servers: int) -> tuple[Span, ...]:
    """Return each server's even part of the flat vector."""
    return even_spans(numel, servers)


def _start(shards: tuple[Span, ...]) -> Step:
    handles = []
    for shard in shards:
        handles.append((yield Pull(shard=shard)))
    for handle in handles:
        yield Wait(handle=handle)


def _step(accumulate: int, reduce: Reduce | None, shards: tuple[Span, ...]) -> Step:
    yield from compute(accumulate, reduce)
    handles = []
    for shard in shards:
        handles.append((yield Push(shard=shard)))
    for handle in handles:
        yield Wait(handle=handle)
