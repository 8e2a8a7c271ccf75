"""Breakdown: where the time of a step goes."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from psbench.analysis.cells import of_time
from psbench.analysis.looks import PART_COLORS, strategy_colors
from psbench.analysis.results import Results
from psbench.analysis.summary import step_parts
from psbench.analysis.variants import variants
from psbench.errors import ResultsError

_BAR = 0.72
_GAP = 0.9
"""Space for the title of a group of bars, in bars."""

_SEEN = 1e-9  # of the longest bar: less is what rounding leaves of nothing

_NAMES = {
    "compute": "compute",
    "wait": "wait (asynchronous: server's queue)",
    "comm": "communication",
    "sync": "wait or communication (several clocks)",
    "update": "update",
    "other": "other",
}


def plot_breakdown(results: Results) -> Figure:
    """Return the mean time of a step in its parts: one stacked bar a cell, in groups by workers.

    Cells without a timed step of a finished trial have no bar; raises ResultsError where no cell
    has one.
    """
    groups = _groups(results)
    if not groups:
        raise ResultsError(f"{results.path} has no timed step of a trial that ended well to draw")
    strategies = (cell["strategy"] for cell in results.manifest["cells"])
    num_bars = sum(len(bars) for bars in groups.values())
    height = 1.5 + 0.3 * (num_bars + _GAP * len(groups))
    figure = Figure(figsize=(10, height), layout="constrained")
    axes = figure.subplots()
    _draw_groups(axes, groups, strategy_colors(strategies))
    axes.set_xlabel("time a step (ms), mean over ranks, timed steps and repeats")
    axes.margins(x=0.1)
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    bars = [parts for own in groups.values() for _, parts in own]
    longest = max(sum(parts.values()) for parts in bars)
    used = {part for parts in bars for part in parts if parts[part] > _SEEN * longest}
    where = f"Where a step's time goes{of_time(results.manifest)}: shorter is faster"
    figure.suptitle(where, fontweight="bold")
    figure.legend(
        handles=[Patch(color=PART_COLORS[p], label=_NAMES[p]) for p in PART_COLORS if p in used],
        loc="outside lower center", ncols=len(used), frameon=False,
    )  # fmt: skip
    return figure


def _groups(results: Results) -> dict[str, list[tuple[str, dict[str, float]]]]:
    """Return bars (strategy, milliseconds of each part) by variant, both in the spec's order."""
    means = step_parts(results.trials, results.steps)
    variant = variants(results.manifest)
    groups: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for cell in results.manifest["cells"]:
        if cell["id"] in means.index:
            parts = _parts_ms(means.loc[cell["id"]])
            groups.setdefault(variant[cell["id"]], []).append((cell["strategy"], parts))
    return groups


def _parts_ms(means: Any) -> dict[str, float]:
    synchronisation = ("sync",) if math.isnan(means["wait"]) else ("wait", "comm")
    parts = ("compute", *synchronisation, "update", "other")
    return {part: means[part] * 1e3 for part in parts if not math.isnan(means[part])}


def _draw_groups(
    axes: Axes, groups: dict[str, list[tuple[str, dict[str, float]]]], colors: dict[str, str]
) -> None:
    ticks: dict[float, str] = {}
    position = 0.0
    for title, bars in groups.items():
        axes.annotate(
            title, (0, position - 0.42), xytext=(2, 2), textcoords="offset points", color="0.35"
        )
        for strategy, parts in bars:
            _draw_bar(axes, position, parts)
            ticks[position] = strategy
            position += 1
        position += _GAP
    axes.set_yticks(list(ticks), list(ticks.values()), fontweight="bold")
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        label.set_color(colors[label.get_text()])
    axes.set_ylim(position - _GAP - 0.4, -0.5 - _GAP)


def _draw_bar(axes: Axes, position: float, parts: dict[str, float]) -> None:
    left = 0.0
    for part, width in parts.items():
        axes.barh(position, width, _BAR, left, color=PART_COLORS[part])
        left += width
    text = f"{left:.3g}" if left < 999.5 else f"{left:,.0f}"
    axes.annotate(
        f"{text} ms", (left, position), xytext=(4, 0), textcoords="offset points", va="center"
    )
