"""Measuring a network on actors: its link by probes, and what each algorithm takes on it."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from psbench.live.auto import ON_ONE_HOST
from psbench.live.bench.plan import Point
from psbench.live.bench.stage import Stage
from psbench.live.watch import gather
from psbench.network import LinkFit, Network, Timing, fit_link

SIZES = tuple(1024 * 4**power for power in range(9))  # 1 KiB to 64 MiB
_PASSES = 3
_CALLS = ((2**20, 15), (8 * 2**20, 5))
"""up to these sizes in bytes, so many calls a pass"""
_FEW_CALLS = 2
_PROBE_SECONDS = 300.0


def calibrate(
    stage: Stage,
    transport: str,
    worlds: Iterable[int],
    sizes: Iterable[int] = SIZES,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Network, LinkFit]:
    """Return the network of a transport, with timings for each number of workers, and the fit of
    its link. `stage` needs two actors at least; `say` is told, in a line, of what begins."""
    worlds = list(worlds)
    say(f"{transport}: messages between 2 workers")
    fit = probe(stage, transport, among=max(2, *worlds))
    points = [
        Point(algorithm=name, nbytes=size, calls=_calls_of(size))
        for size in sorted(sizes)
        for name in ON_ONE_HOST
    ]
    timings: list[Timing] = []
    for workers in worlds:
        if workers > 1:
            say(f"{transport}: all-reduces of {workers} workers")
            timings += _timings(stage, transport, tuple(points), workers)
    network = Network(
        transport=transport, link=fit.link, uncertainty=fit.uncertainty, timings=tuple(timings)
    )
    return network, fit


def _calls_of(nbytes: int) -> int:
    return next((calls for size, calls in _CALLS if nbytes <= size), _FEW_CALLS)


def _timings(
    stage: Stage, transport: str, points: tuple[Point, ...], workers: int
) -> Iterator[Timing]:
    """Yield each point's least median over passes: what disturbs a pass can only lengthen it."""
    medians: dict[Point, list[float]] = {}
    for point, seconds, _ in stage.carry_out(transport, points * _PASSES, workers=workers):
        medians.setdefault(point, []).append(float(np.median(seconds)))
    for point, seen in medians.items():
        yield Timing(
            algorithm=point.algorithm, workers=workers, nbytes=point.nbytes, seconds=min(seen)
        )


def probe(stage: Stage, transport: str, *, among: int) -> LinkFit:
    """Return the fit of a link between two of the first actors."""
    members = stage.form_pair(transport, among=among)
    calls = [member.actor.probe_link.remote() for member in members]
    told = gather(members, calls, seconds=_PROBE_SECONDS, stop=stage.stop)
    return fit_link(told[0])
