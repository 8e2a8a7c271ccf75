"""What a reader must know of the strategies in a summary to read its columns."""

from collections.abc import Callable, Iterator
from typing import Any

from psbench.analysis.cells import is_virtual
from psbench.analysis.measures import synchronisation, waits_for_some
from psbench.analysis.results import Results

MOST_NAMES = 4


def how_strategies_read(results: Results) -> Iterator[str]:
    """Yield a line for each column that means something of its own under some strategies."""

    def those(are: Callable[[dict[str, Any]], bool]) -> str:
        """Return the names of the cells' strategies that are so."""
        cells = results.manifest["cells"]
        own = dict.fromkeys(cell["strategy"] for cell in cells if are(cell["fields"]["strategy"]))
        more = [f"{len(own) - MOST_NAMES} more"] if len(own) > MOST_NAMES else []
        return ", ".join([*list(own)[:MOST_NAMES], *more])

    queued = those(lambda own: synchronisation(own) == "asynchronous" and not waits_for_some(own))
    held = those(waits_for_some)
    if queued:
        yield f"wait, for {queued}: the time a push lay in the server's queue"
    if held:
        yield f"wait, for {held}: the time a push lay in the queue, or was held for others"
    if those(lambda own: synchronisation(own) == "unseen"):
        yield "compute, for ddp, contains its communication: it goes on inside the backward pass"
    seldom = those(lambda own: own.get("every", 1) > 1)
    if seldom:
        yield f"step, for {seldom}: most steps send nothing; what sending costs is in samples/s"
    if any(is_virtual(cell) and cell["servers"] for cell in results.manifest["cells"]):
        yield "server busy, in virtual time: its port one way, or updates, whichever is more"
    if (results.summary()["dropped_share"] > 0).any():
        yield "samples/s leaves out what was dropped"
    alone = those(_updates_alone)
    several = (results.summary()["workers"] > 1).any()
    if alone and those(_sums) and several and results.summary()["final_loss"].notna().any():
        pushes = f"{_workers(results)} pushes"
        yield f"{alone}: each push is an update at the whole lr; others make one of {pushes}"


def _workers(results: Results) -> str:
    workers = sorted(set(results.summary()["workers"]) - {1})
    return str(workers[0]) if len(workers) == 1 else "their workers'"


def _updates_alone(strategy: dict[str, Any]) -> bool:
    """Say whether a server steps by each push alone, at the rate that is meant for a sum."""
    own = strategy.get("consistency") in ("asynchronous", "bounded_staleness")
    rule = strategy.get("lr_rule") or {}
    return own and rule.get("kind", "none") == "none"


def _sums(strategy: dict[str, Any]) -> bool:
    """Say whether an update sums the gradients of all workers."""
    kind = strategy["kind"]
    if kind == "parameter_server":
        return bool(strategy["consistency"] == "synchronous")
    return kind in ("all_reduce", "native", "ddp")
