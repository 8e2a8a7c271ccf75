"""Through servers: push the gradients, and go on with the parameters that come back."""

import itertools

from psbench.parameter_server import RULES
from psbench.parts import even_parts
from psbench.strategies.commands import Compute, Pull, Push, Span, Wait
from psbench.strategies.strategy import Step, Strategy


def parameter_server(*, world: int, numel: int, servers: int, consistency: str) -> Strategy:
    """Push every shard and go on with the answers, which the servers' rule gives when it will."""
    shards = shard_spans(numel, servers)
    compute = Compute(share=RULES[consistency]().waits_for_all)
    return Strategy(start=lambda: _start(shards), step=lambda: _step(compute, shards), served=True)


def shard_spans(numel: int, servers: int) -> tuple[Span, ...]:
    """Return each server's even part of the flat vector."""
    bounds = even_parts(numel, servers).tolist()
    return tuple(
        Span(index=i, start=a, stop=b) for i, (a, b) in enumerate(itertools.pairwise(bounds))
    )


def _start(shards: tuple[Span, ...]) -> Step:
    handles = []
    for shard in shards:
        handles.append((yield Pull(shard=shard)))
    for handle in handles:
        yield Wait(handle=handle)


def _step(compute: Compute, shards: tuple[Span, ...]) -> Step:
    yield compute
    handles = []
    for shard in shards:
        handles.append((yield Push(shard=shard)))
    for handle in handles:
        yield Wait(handle=handle)
