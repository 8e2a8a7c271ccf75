"""No synchronisation: each rank trains alone. The control that shows what communication costs."""

from psbench.strategies.commands import Apply, Reduce
from psbench.strategies.strategy import Step, Strategy, compute


def none(*, world: int, numel: int, accumulate: int = 1, reduce: Reduce = "mean") -> Strategy:
    """Compute and apply, nothing else."""
    return Strategy(step=lambda _: _step(accumulate))


def _step(accumulate: int) -> Step:
    yield from compute(accumulate, None)
    yield Apply()
