"""What limits a run's timings, in words: told when it starts, and again below its table."""

from collections.abc import Iterable, Iterator, Mapping

from psbench.results.rows import TrialRow
from psbench.units import count

_ENOUGH_REPEATS = 3

NOT_PINNED = "ranks not pinned to cores: two may share one for a while, so trials scatter more"


def few_repeats(repeats: int) -> str | None:
    """Return what to say of so many repeats; None where they are enough."""
    if repeats >= _ENOUGH_REPEATS:
        return None
    return (
        f"{count(repeats, 'repeat')}: too few to tell a difference from noise; "
        f"ask for {_ENOUGH_REPEATS} or more"
    )


def crowded(processes: int, cores: int, *, threads: int = 1) -> str:
    """Return what to say of more processes, of so many threads each, than cores."""
    wanted = count(processes, "process", "processes")
    if threads > 1:
        wanted += f" of {threads} threads"
    return f"up to {wanted} on {cores} cores: timings compare but do not scale"


def unlike_transports(
    trials: Iterable[TrialRow], names: Mapping[str, str], *, axes: Iterable[str]
) -> Iterator[str]:
    """Yield what to say of trials that sent their bytes by different transports, for one cell's
    repeats and for all; `names` are those of the cells, by id. Who sends nothing is passed over,
    and so is what the spec's `axes` compare."""
    of_cell: dict[str, dict[str, None]] = {}  # the transports as they come, each once
    for row in trials:
        if len(row.messages_sent) > 1 and any(row.messages_sent):
            of_cell.setdefault(row.cell_id, {})[row.transport] = None
    everywhere: dict[str, None] = {}
    for cell_id, own in of_cell.items():
        everywhere |= own
        if len(own) > 1:
            yield f"repeats differ in transport ({', '.join(own)}): {names[cell_id]}"
    if len(everywhere) > 1 and "transport" not in axes:
        yield _differ("transport", everywhere)


def unlike_devices(devices: Iterable[str]) -> str | None:
    """Return what to say of workers that compute on these; None where all do on the same."""
    known = list(dict.fromkeys(devices))
    return _differ("device", known) if len(known) > 1 else None


def _differ(what: str, found: Iterable[str]) -> str:
    told = ", ".join(found)
    return (
        f"{what}s differ ({told}): a difference between such cells is the {what}'s as well as the "
        "strategy's"
    )
