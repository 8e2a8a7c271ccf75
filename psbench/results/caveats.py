"""What limits a run's timings, in words: told when it starts, and again below its table."""

from collections.abc import Iterable

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


def unlike_devices(devices: Iterable[str]) -> str | None:
    """Return what to say of workers that compute on these; None where all do on the same."""
    known = list(dict.fromkeys(devices))
    if len(known) < 2:
        return None
    return f"devices differ ({', '.join(known)}): compare only cells of the same one"
