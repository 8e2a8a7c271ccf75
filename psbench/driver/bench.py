"""The measurements of `psbench bench`, from first to last."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from psbench.driver.interrupt import Interrupt
from psbench.live.bench.plan import BenchPlan
from psbench.results import BenchRow


def bench(plan: BenchPlan, say: Callable[[str], None]) -> Iterator[BenchRow]:
    """Yield the row of each point as it is finished; `say` is told how far it is.

    Raises PlacementError where the cluster is too small, TransportError, naming the process, where
    one fails, and KeyboardInterrupt after Ctrl-C or SIGTERM. Nothing is left running in any case.
    """
    from psbench.live.bench.session import BenchSession

    with Interrupt(lambda: say("interrupted: ending the processes")) as stop, ExitStack() as stack:
        with stop.at_once():
            session = stack.enter_context(BenchSession(plan))
        yield from session.run(stop, say)
