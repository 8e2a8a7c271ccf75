"""What `psbench bench` and `psbench calibrate` measure, from first to last.

Both raise PlacementError where the cluster is too small, TransportError, naming the process, where
one fails, and KeyboardInterrupt after Ctrl-C or SIGTERM. Nothing is left running in any case.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from psbench.driver.interrupt import Interrupt
from psbench.live.auto import network_file, network_from
from psbench.live.bench.plan import BenchPlan
from psbench.results import BenchRow
from psbench.spec import NetworkFile

if TYPE_CHECKING:
    from psbench.live.bench.session import BenchSession

Say = Callable[[str], None]


def bench(plan: BenchPlan, known: NetworkFile | None, say: Say) -> Iterator[BenchRow]:
    """Yield the row of each point as it is finished; `say` is told how far it is.

    `auto` goes by the network `known`, or by one that is measured first.
    """
    network = None if known is None else network_from(known)
    with _session(plan.processes, plan.transports, pin=plan.pin, say=say) as session:
        yield from session.bench(plan, network, say)


def calibrate(
    transport: str, workers: Sequence[int], sizes: Sequence[int] | None, say: Say
) -> tuple[NetworkFile, Sequence[float]]:
    """Return the network of a transport, with timings for each number of `workers` and size in
    bytes, and by how much of each of its measurements the link's model is off."""
    with _session(max(2, *workers), [transport], pin=True, say=say) as session:
        network, fit = session.calibrate(transport, workers, sizes, say)
    return network_file(network), fit.residuals.tolist()


@contextmanager
def _session(
    size: int, transports: Sequence[str], *, pin: bool, say: Say
) -> "Iterator[BenchSession]":
    from psbench.live.bench.session import BenchSession

    with Interrupt(lambda: say("interrupted: ending the processes")) as stop, ExitStack() as stack:
        with stop.at_once():
            session = BenchSession(size, transports, pin=pin, stop=stop)
            stack.enter_context(session)
        yield session
