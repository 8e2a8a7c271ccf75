"""A network as it was measured: its link, and what collectives took on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from psbench.network.link import Link

Cost = Callable[..., float]
"""`cost(world, nbytes, latency=, overhead=, byte_time=, reduce_time=)` -> seconds."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """What an algorithm took on a vector of `nbytes`, median over calls."""

    algorithm: str
    workers: int
    nbytes: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Network:
    """A link with its uncertainty, and timings of collectives, over one transport.

    Ranks that share cores and memory do not have a port each, as the formulas say: how far those
    are off depends on the algorithm and the number of workers, and on the size where caches end.
    So a formula is multiplied by measured / predicted, interpolated over sizes.
    """

    transport: str
    link: Link
    uncertainty: Link | None = None
    timings: tuple[Timing, ...] = ()

    def predict(self, costs: Mapping[str, Cost], *, workers: int, nbytes: int) -> dict[str, float]:
        """Return the seconds of an all-reduce of `nbytes` by each algorithm, the fastest first.

        Where some were timed with so many workers, only those: a formula alone does not compare.
        """
        timed = {t.algorithm for t in self.timings if t.workers == workers and t.nbytes > 0}
        names = [name for name in costs if name in timed] or list(costs)
        seconds = {name: self._seconds(name, costs[name], workers, nbytes) for name in names}
        return dict(sorted(seconds.items(), key=lambda item: item[1]))

    def _seconds(self, name: str, cost: Cost, workers: int, nbytes: int) -> float:
        def model(size: int) -> float:
            return cost(workers, size, **self.link.costs())

        own = sorted(
            (t.nbytes, t.seconds)
            for t in self.timings
            if (t.algorithm, t.workers) == (name, workers) and t.nbytes > 0
        )
        known = [(size, seconds / model(size)) for size, seconds in own if model(size) > 0]
        if not known:
            return model(nbytes)
        sizes, ratios = np.log(np.array(known)).T
        return model(nbytes) * float(np.exp(np.interp(np.log(max(nbytes, 1)), sizes, ratios)))
