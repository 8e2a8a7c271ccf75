"""What limits a run's timings, in words: told when it starts, and again below its table."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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


def is_exact(fields: Mapping[str, Any]) -> bool:
    """Say whether all repeats of a cell, given by its fields as JSON, are the same: in virtual
    time, where nothing is drawn. A model's parameters and batches are; computing may be."""
    if fields.get("engine") != "simulated" or "model" in fields["task"]:
        return False
    compute = fields.get("compute") or {}
    chances = [slow.get("probability", 1.0) for slow in compute.get("slow") or ()]
    drawn = compute.get("jitter") or compute.get("stragglers")
    return not drawn and all(chance == 1.0 for chance in chances)


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
