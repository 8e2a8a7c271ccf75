"""Between synchronous and none: each rank steps its own optimiser, and now and then all agree.

What they agree on is the centre. A rank sends how far it has come from there as if that were a
gradient, the outer gradient, which goes by the ways gradients go: over an all-reduce each rank then
steps a copy of the centre, over servers these step the parts of it. A rank's own optimiser keeps
its state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from psbench.parameter_server import RULES
from psbench.strategies.all_reduce import sums_by_backend, sums_by_schedule
from psbench.strategies.commands import (
    AllReduce,
    Apply,
    ApplyOuter,
    Approach,
    Elastic,
    KeepCentre,
    Offer,
    Outer,
    OuterGradient,
    Pull,
    Push,
    Reduce,
)
from psbench.strategies.parameter_server import shards_of
from psbench.strategies.strategy import Step, Strategy, compute, together

SUMS: dict[str, Callable[..., list[AllReduce]]] = {
    "all_reduce": sums_by_schedule,
    "native": sums_by_backend,
}
"""What may sum outer gradients where no servers do, by the kind of strategy that sums so."""

Over = Mapping[str, Any]
"""How the centre is stepped: `kind`, one of SUMS or parameter_server, and the options of that."""


def local_sgd(
    *,
    world: int,
    numel: int,
    steps: int,
    every: int,
    over: Over,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Average the parameters after every `every` steps and the last of all `steps`.

    Stich, "Local SGD converges fast and communicates little", 2019, algorithm 1.
    """
    way = _way(over, world, numel, Outer(lr=1.0))
    return _strategy(way, lambda: _meet(way), steps, every, accumulate)


def diloco(
    *,
    world: int,
    numel: int,
    steps: int,
    every: int,
    lr: float,
    momentum: float,
    nesterov: bool,
    over: Over,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Make a step from where all were last, by the mean of how far each has come, and go on there.

    Douillard et al., "DiLoCo: distributed low-communication training of language models", 2023,
    algorithm 1.
    """
    way = _way(over, world, numel, Outer(lr=lr, momentum=momentum, nesterov=nesterov))
    return _strategy(way, lambda: _meet(way), steps, every, accumulate)


def easgd(
    *,
    world: int,
    numel: int,
    steps: int,
    every: int,
    alpha: float | None,
    over: Over,
    accumulate: int = 1,
    reduce: Reduce = "mean",
) -> Strategy:
    """Draw each rank to the centre by the share `alpha` of its way there, and the centre to each
    rank; alpha is 0.9 / world where it is None, as in the paper.

    Zhang, Choromanska and LeCun, "Deep learning with elastic averaging SGD", 2015: equations 5 and
    6, and over asynchronous servers algorithm 1. There a rank's gradient is of where it stood
    before it was drawn, here of where it stands after. Drawn by all at once, the centre goes
    world * alpha of its way to their mean by share of the batch, which is their sum for even ones.
    """
    share = 0.9 / world if alpha is None else alpha
    if over["kind"] == "parameter_server" and not RULES[over["consistency"]].sums_shares:
        way = _way(over, world, numel, Elastic(alpha=share))
        return _strategy(way, lambda: _draw_in_turn(way, share), steps, every, accumulate)
    way = _way(over, world, numel, Outer(lr=world * share))
    return _strategy(way, lambda: _draw(way, share), steps, every, accumulate)


@dataclass(frozen=True, kw_only=True)
class _Way:
    """How a rank comes by the centre, and how that is stepped with what ranks send. `served` says
    how servers do it, where they do."""

    start: Callable[[], Step]
    step_centre: Callable[[], Step]
    served: Outer | Elastic | None = None


def _way(over: Over, world: int, numel: int, outer: Outer | Elastic) -> _Way:
    options = {name: value for name, value in over.items() if name != "kind"}
    if over["kind"] == "parameter_server":
        shards = shards_of(numel, options["servers"], options.get("bucket"))[::-1]
        pulls, pushes = [Pull(shard=one) for one in shards], [Push(shard=one) for one in shards]
        return _Way(
            start=lambda: _take_the_servers(pulls),
            step_centre=lambda: together(pushes),
            served=outer,
        )
    assert isinstance(outer, Outer)
    sums = SUMS[over["kind"]](world=world, numel=numel, **options)
    return _Way(start=lambda: _keep(outer), step_centre=lambda: _sum_and_step(sums))


def _strategy(
    way: _Way, exchange: Callable[[], Step], steps: int, every: int, accumulate: int
) -> Strategy:
    def agrees(step: int) -> bool:
        return (step + 1) % every == 0 or step + 1 == steps

    def one_step(step: int) -> Step:
        yield from compute(accumulate, None)
        yield Apply()
        if agrees(step):
            yield from exchange()

    served = way.served is not None
    return Strategy(
        start=way.start, step=one_step, agrees=agrees, served=served, every=every, outer=way.served
    )


def _meet(way: _Way) -> Step:
    yield OuterGradient()
    yield from way.step_centre()
    yield Approach(rate=1.0)


def _draw(way: _Way, alpha: float) -> Step:
    yield OuterGradient()
    yield Approach(rate=alpha)
    yield from way.step_centre()


def _draw_in_turn(way: _Way, alpha: float) -> Step:
    """Where servers take ranks one by one, a rank learns of the centre only what has become of it:
    from there the way that was left, 1 - alpha of the whole."""
    yield Offer()
    yield from way.step_centre()
    yield Approach(rate=alpha / (1.0 - alpha))


def _keep(outer: Outer) -> Step:
    yield KeepCentre(outer=outer)


def _take_the_servers(pulls: list[Pull]) -> Step:
    yield KeepCentre()
    yield from together(pulls)
    yield Approach(rate=1.0)


def _sum_and_step(sums: list[AllReduce]) -> Step:
    yield from together(sums)
    yield ApplyOuter()
