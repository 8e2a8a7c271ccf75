"""No synchronisation: each rank trains alone. The control that shows what communication costs."""

from psbench.strategies.commands import Apply, Compute
from psbench.strategies.strategy import Step, Strategy


def none(*, world: int, numel: int) -> Strategy:
    """Compute and apply, nothing else."""
    return Strategy(step=_step)


def _step() -> Step:
    yield Compute(share=False)
    yield Apply()
