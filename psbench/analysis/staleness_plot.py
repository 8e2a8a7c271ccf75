"""Staleness: how many versions behind the gradients were that servers took."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill, wrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from psbench.analysis.cells import of_time
from psbench.analysis.looks import strategy_colors
from psbench.analysis.results import Results
from psbench.analysis.variants import variants
from psbench.errors import ResultsError
from psbench.units import count

MAX_PANELS = 12
_COLUMNS = 4
_MOST_BARS = 20
_MOST_MARKS = 5
_SHOWN = 0.99  # of each cell's pushes have bars of their own, at least
_PANEL = (3.6, 2.8)  # inches
_LINE, _TITLE = 44, 30  # characters above a panel, of its text and of its title
_BOLD = 10.5  # characters of an inch of the figure's own title
_MEAN: dict[str, Any] = {"color": "0.15", "linewidth": 1.6}
_P95: dict[str, Any] = {"color": "0.15", "linewidth": 1.4, "linestyle": (0, (1, 1.5))}


@dataclass(frozen=True, kw_only=True)
class _Bars:
    """Bars of `width` versions each from 0 on; in the last one what is `cut` or more, if any is."""

    width: int
    number: int
    cut: int | None
    most: int
    """the greatest value"""


def plot_staleness(results: Results) -> Figure:
    """Return the share of pushes by their staleness, one panel a cell, up to MAX_PANELS.

    Over the timed steps of all ranks and repeats that ended "ok"; pushes that were dropped do not
    count. Cells whose servers wait for all are left out. All panels have the same axes, whose last
    bar holds what lies beyond. Raises ResultsError where no push was stale.
    """
    if not has_staleness(results):
        raise ResultsError(f"{results.path} has no stale push to draw")
    variant = variants(results.manifest)
    found = _by_variant(_by_cell(results), variant)
    shown = dict(list(found.items())[:MAX_PANELS])
    bars = _bars(shown)
    figure, panels = _grid([variant[cell_id] for cell_id in shown])
    colors = strategy_colors(cell["strategy"] for cell in results.manifest["cells"])
    strategies = {cell["id"]: cell["strategy"] for cell in results.manifest["cells"]}
    for panel, (cell_id, values) in zip(panels, shown.items(), strict=True):
        strategy = strategies[cell_id]
        _draw_panel(panel, values, bars, colors[strategy])
        title, options = _in_two(strategy)
        lines = [*wrap(options, _LINE), *wrap(variant[cell_id], _LINE), _in_figures(values)]
        _write_above(panel, title, colors[strategy], lines)
    title = f"How stale gradients were{of_time(results.manifest)}: further left is fresher"
    _label(figure, title, bars, num_left_out=len(found) - len(shown))
    return figure


def has_staleness(results: Results) -> bool:
    """Return whether any push was stale."""
    return any((values > 0).any() for values in _by_cell(results).values())


def _by_cell(results: Results) -> dict[str, "pd.Series[int]"]:
    """Return the staleness of each push, for cells where it may be more than 0."""
    trials, steps = results.trials, results.steps
    ok = trials.loc[trials["status"] == "ok", ["cell_id", "repeat"]]
    pushed = (steps["staleness"] >= 0) & (steps["dropped"] == 0) & ~steps["warmup"].astype(bool)
    own = steps[pushed].merge(ok, on=["cell_id", "repeat"])
    by_cell = dict(iter(own.groupby("cell_id")["staleness"]))
    found = {cell["id"]: by_cell.get(cell["id"]) for cell in results.manifest["cells"]}
    waiting = {cell["id"] for cell in results.manifest["cells"] if _waits_for_all(cell)}
    return {
        cell_id: values
        for cell_id, values in found.items()
        if values is not None and ((values > 0).any() or cell_id not in waiting)
    }


def _waits_for_all(cell: Mapping[str, Any]) -> bool:
    """Say whether a server makes a version of pushes that were computed from the one before."""
    strategy = cell["fields"]["strategy"]
    own = strategy.get("over", strategy)
    return bool(own.get("consistency") == "synchronous" or cell["workers"] == 1)


def _by_variant(
    found: Mapping[str, "pd.Series[int]"], variant: Mapping[str, str]
) -> dict[str, "pd.Series[int]"]:
    """Return cells of one variant next to each other."""
    order = list(dict.fromkeys(variant.values()))
    return dict(sorted(found.items(), key=lambda item: order.index(variant[item[0]])))


def _bars(found: Mapping[str, "pd.Series[int]"]) -> _Bars:
    """Return bars for the values of all cells, few enough to be seen."""
    number = 1 + math.ceil(max(values.quantile(_SHOWN) for values in found.values()))
    width = math.ceil(number / _MOST_BARS)
    number = math.ceil(number / width)
    cut = width * number
    most = int(max(values.max() for values in found.values()))
    if most < cut:
        return _Bars(width=width, number=number, cut=None, most=most)
    return _Bars(width=width, number=number + 1, cut=cut, most=most)


def _grid(drawn: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a panel for each cell of these variants; a row a variant, where that is even."""
    sizes = set(Counter(drawn).values())
    even = len(sizes) == 1 and 1 < max(sizes) <= _COLUMNS
    rows = math.ceil(len(drawn) / _COLUMNS)
    columns = max(sizes) if even else math.ceil(len(drawn) / rows)
    rows = math.ceil(len(drawn) / columns)
    size = (max(2, columns) * _PANEL[0], 1.2 + rows * _PANEL[1])
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel in panels[len(drawn) :]:
        panel.remove()
    for panel in panels[max(0, len(drawn) - columns) : len(drawn)]:
        panel.xaxis.set_tick_params(labelbottom=True)
        panel.set_xlabel("staleness (versions)")
    return figure, list(panels[: len(drawn)])


def _draw_panel(panel: Axes, values: "pd.Series[int]", bars: _Bars, color: str) -> None:
    last = bars.number - 1
    counts = np.bincount(np.minimum(values // bars.width, last), minlength=bars.number)
    # a bar begins half a version before its least, so that each number lies in its own
    lefts = np.arange(bars.number) * bars.width - 0.5
    panel.bar(
        lefts + 0.05 * bars.width, counts / counts.sum() * 100.0, 0.9 * bars.width,
        align="edge", color=color,
    )  # fmt: skip
    panel.axvline(float(values.mean()), **_MEAN)
    panel.axvline(float(values.quantile(0.95)), **_P95)
    panel.set_xlim(lefts[0] - 0.2 * bars.width, lefts[-1] + 1.2 * bars.width)
    _mark(panel, bars)
    panel.grid(axis="y", alpha=0.25)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _in_figures(values: "pd.Series[int]") -> str:
    p95 = values.quantile(0.95)
    return f"mean {values.mean():.1f}, 95 % up to {p95:.0f}, most {values.max()}"


def _in_two(strategy: str) -> tuple[str, str]:
    """Return a strategy's name for a title, and its options where they do not fit in there."""
    if len(strategy) <= _TITLE:
        return strategy, ""
    name, _, options = strategy.partition("(")
    return name, options.removesuffix(")")


def _write_above(panel: Axes, title: str, color: str, lines: Sequence[str]) -> None:
    panel.set_title(title, loc="left", color=color, weight="bold", pad=6 + 12 * len(lines))
    panel.annotate(
        "\n".join(lines), (0, 1), xycoords="axes fraction", xytext=(0, 4),
        textcoords="offset points", fontsize="small", color="0.35",
    )  # fmt: skip


def _mark(panel: Axes, bars: _Bars) -> None:
    ends = bars.width * bars.number if bars.cut is None else bars.cut
    apart = bars.width * math.ceil(ends / bars.width / _MOST_MARKS)
    marks = {mark: str(mark) for mark in range(0, ends, apart)}
    if bars.cut is not None:
        marks = {mark: text for mark, text in marks.items() if mark <= bars.cut - apart}
        marks[bars.cut] = f"≥ {bars.cut}" if bars.most > bars.cut else str(bars.cut)
    panel.set_xticks(list(marks), list(marks.values()))


def _label(figure: Figure, title: str, bars: _Bars, num_left_out: int) -> None:
    if num_left_out:
        title += f"; {count(num_left_out, 'more cell')} not drawn"
    title = fill(title, int(_BOLD * figure.get_figwidth()))
    figure.suptitle(title, fontweight="bold")
    each = f", {bars.width} versions a bar" if bars.width > 1 else ""
    figure.supylabel(f"share of pushes (%{each})", fontsize="medium")
    figure.legend(
        handles=[
            Line2D([], [], label="mean", **_MEAN),
            Line2D([], [], label="95 % of pushes up to", **_P95),
        ],
        loc="outside lower center", ncols=2, frameon=False,
    )  # fmt: skip
