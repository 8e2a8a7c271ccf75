"""What a cell's `compute` says, as people say it."""

from collections.abc import Iterable
from typing import Any

from psbench.units import show_value

_NO_NUMBERS = {"compute", "compute.slow"}
_STRAGGLERS = "compute.stragglers"


def told_in_words(axes: Iterable[str]) -> set[str]:
    """Return which of the dotted paths that vary `computing_in_words` tells best: all of `compute`,
    where there are other ranks that are slow, or padding or none, or stragglers or none; none where
    numbers alone vary."""
    own = {axis for axis in axes if axis.partition(".")[0] == "compute"}
    # whether there are any shows in all that is said of them
    of_stragglers = [axis for axis in own if axis.startswith(_STRAGGLERS)]
    return own if own & _NO_NUMBERS or len(of_stragglers) > 1 else set()


def computing_in_words(compute: dict[str, Any] | None, workers: int) -> str:
    """Return the field `compute` of a cell with so many workers in words: "20.0 ms, rank 3 4x
    slower", "20.0 ms, jitter 0.1, each rank 4x slower in 25 % of steps", "20.0 ms, 5 % of steps
    straggle (Pareto 1.5, up to 100x)"; what it lacks is left out."""
    if not compute:
        return "not padded"
    ranks: dict[tuple[float, float], list[int]] = {}
    for slow in compute.get("slow") or ():
        ranks.setdefault((slow["factor"], slow.get("probability", 1.0)), []).append(slow["rank"])
    seconds, jitter = compute.get("seconds"), compute.get("jitter")
    parts = [] if seconds is None else [show_value(seconds)]
    parts += [f"jitter {jitter:g}"] if jitter else []
    parts += [
        f"{_ranks(own, workers)} {_times(factor)}{_how_often(probability)}"
        for (factor, probability), own in ranks.items()
    ]
    stragglers = compute.get("stragglers")
    parts += [_straggling(**stragglers)] if stragglers else []
    return ", ".join(parts) or "no rank slower"


def _ranks(ranks: list[int], workers: int) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if sorted(ranks) == list(range(workers)):
        return "each rank"
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return "ranks " + " and ".join(_run(run) for run in runs)


def _run(run: list[int]) -> str:
    return f"{run[0]}–{run[-1]}" if len(run) > 2 else " and ".join(map(str, run))


def _times(factor: float) -> str:
    if factor == 1:
        return "no slower"
    return f"{factor:g}x slower" if factor > 1 else f"{1 / factor:.3g}x faster"


def _how_often(probability: float) -> str:
    return "" if probability == 1 else f" in {_percent(probability)} of steps"


def _straggling(probability: float, shape: float, most: float) -> str:
    return f"{_percent(probability)} of steps straggle (Pareto {shape:g}, up to {most:g}x)"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
