"""What `auto` stands for in a run, by what is measured on the run's own actors."""

from collections.abc import Callable, Mapping, Sequence

from psbench.errors import PlacementError
from psbench.live.auto import pick
from psbench.live.bench.calibration import calibrate
from psbench.live.bench.stage import Stage
from psbench.live.transports import AUTO
from psbench.network import Network, Timing
from psbench.schedules import pipelined_chunks
from psbench.spec import AllReduce, Cell, carrier
from psbench.training import vector_nbytes
from psbench.trial import Pick

_ALONE = "ring"  # without rounds, as all are in a world of one


def is_auto(cell: Cell) -> bool:
    """Say whether the spec leaves a cell's algorithm, or its number of chunks, to us."""
    strategy = carrier(cell.strategy)
    return isinstance(strategy, AllReduce) and AUTO in (strategy.algorithm, strategy.chunks)


def measure_networks(
    cells: Sequence[Cell], known: Mapping[str, Network], stage_for: Callable[[Cell], Stage]
) -> dict[str, Network]:
    """Return the networks that the `auto` among `cells` need, by transport.

    Those that are `known` are taken as they are. For each of the others the link is measured once
    more for each number of workers, and every algorithm on vectors as long as the cells'. Which
    transport `auto` stands for depends on where a cell's actors are.
    """
    found = dict(known)
    wanted: dict[str, dict[int, list[Cell]]] = {}
    for cell in cells:
        if not is_auto(cell) or cell.workers == 1:
            continue
        asked = cell.transport
        transport = stage_for(cell).transport_of(cell) if asked == AUTO else asked
        if transport not in known:
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


def picked(cell: Cell, transport: str, networks: Mapping[str, Network]) -> Pick:
    """Return what `auto` stands for in a cell over the transport that carries it.

    Raises PlacementError where no network of that transport was measured.
    """
    if not is_auto(cell):
        return Pick()
    strategy = carrier(cell.strategy)
    assert isinstance(strategy, AllReduce)
    named = strategy.algorithm != AUTO
    if cell.workers == 1:
        return Pick(chunks=1) if named else Pick(algorithm=_ALONE)
    if transport not in networks:
        raise PlacementError(
            f"auto goes by a network of {transport}, and none was measured when the run began: its "
            f"processes were on other hosts then; name the algorithm, or the transport"
        )
    network, nbytes = networks[transport], vector_nbytes(cell)
    if not named:
        return Pick(algorithm=pick(network, workers=cell.workers, nbytes=nbytes))
    link = network.link
    return Pick(
        chunks=pipelined_chunks(
            strategy.algorithm,
            cell.workers,
            nbytes,
            latency=link.latency,
            overhead=link.overhead,
            byte_time=link.byte_time,
            reduce_time=link.reduce_time,
        )
    )
