"""What `algorithm: auto` stands for in a run, by what is measured on the run's own actors."""

from collections.abc import Callable, Mapping, Sequence

from psbench.live.auto import pick
from psbench.live.bench.calibration import calibrate
from psbench.live.bench.stage import Stage
from psbench.live.transports import resolve_transport
from psbench.network import Network, Timing
from psbench.spec import AllReduce, Cell
from psbench.training import vector_nbytes

AUTO = "auto"
_ALONE = "ring"  # without rounds, as all are in a world of one


def is_auto(cell: Cell) -> bool:
    """Say whether the spec leaves the algorithm of a cell to us."""
    return isinstance(cell.strategy, AllReduce) and cell.strategy.algorithm == AUTO


def measure_networks(
    cells: Sequence[Cell], known: Mapping[str, Network], stage_for: Callable[[Cell], Stage]
) -> dict[str, Network]:
    """Return the networks that the `auto` among `cells` need, by transport.

    Those that are `known` are taken as they are. For each of the others the link is measured once
    more for each number of workers, and every algorithm on vectors as long as the cells'.
    """
    found = dict(known)
    wanted: dict[str, dict[int, list[Cell]]] = {}
    for cell in cells:
        transport = resolve_transport(cell.transport)
        if is_auto(cell) and cell.workers > 1 and transport not in known:
            wanted.setdefault(transport, {}).setdefault(cell.workers, []).append(cell)
    for transport, worlds in wanted.items():
        timings: list[Timing] = []
        for workers, own in worlds.items():
            sizes = {vector_nbytes(cell) for cell in own}
            network, _ = calibrate(stage_for(own[0]), transport, [workers], sizes)
            timings += network.timings
        found[transport] = Network(
            transport=transport,
            link=network.link,
            uncertainty=network.uncertainty,
            timings=tuple(timings),
        )
    return found


def picked(cell: Cell, networks: Mapping[str, Network]) -> str | None:
    """Return the algorithm of an `auto` cell; None for one that needs no picking."""
    if not is_auto(cell):
        return None
    if cell.workers == 1:
        return _ALONE
    network = networks[resolve_transport(cell.transport)]
    return pick(network, workers=cell.workers, nbytes=vector_nbytes(cell))
