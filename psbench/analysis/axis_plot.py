"""A picture of measures against an axis: scaling with workers, sensitivity to a learning rate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from psbench.analysis.axis_scales import scale_x, scale_y
from psbench.analysis.axis_series import Series, axis_series, unit_of
from psbench.analysis.cells import of_time
from psbench.analysis.looks import line_widths, strategy_colors
from psbench.analysis.panels import Grid, Row, draw_legends, make_grid
from psbench.analysis.results import Results
from psbench.analysis.scaling import knows_efficiency, name_of_efficiency
from psbench.errors import ResultsError

_NAMES = {
    "samples_per_s": "samples/s, all workers together",
    "samples_per_s_per_host": "samples/s a host",
    "speedup": "samples/s over that of one worker",
    "step_s": "median step (s)",
    "step_p95_s": "95th percentile of steps (s)",
    "final_accuracy": "accuracy at the end",
    "final_loss": "loss at the end",
    "time_to_target_s": "time to target (s)",
    "samples_to_target": "samples to target",
    "steps_to_target": "steps to target",
    "busiest_bytes_per_step": "bytes a step of the busiest node",
}
_AXES = {"strategy.staleness.versions": "staleness (versions)"}
_IDEAL: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (1, 3)), "zorder": 1}
_CROSS: dict[str, Any] = {"linestyle": "", "marker": "x", "markersize": 7, "markeredgewidth": 2}
_CROSS_ROW = 0.035  # of a panel's height
_IN_PROPORTION = ("workers", "samples_per_s")
_EFFICIENCY = "efficiency"
_OF_STEPS = ("step_s", "step_p95_s")


def plot_axis(results: Results, axis: str, measures: Sequence[str] = ()) -> Figure:
    """Return one panel a measure against `axis`; without `measures`, those that say most.

    One line for the cells that differ in the axis alone: the median over repeats, in a band from
    the least to the greatest. The colour is the strategy, the line style whatever else varies; with
    one strategy the colour is whatever varies.
    Raises ResultsError for an axis or a measure that is not there, or has no value in any trial.
    """
    measures = list(measures) or _telling(results, axis)
    lines = {measure: axis_series(results, axis, measure) for measure in measures}
    points = pd.concat([series.points for own in lines.values() for series in own])
    if not (points["y"].notna() | points["diverged"]).any():
        raise ResultsError(f"{results.path} has no {' or '.join(measures)} to draw")
    first = lines[measures[0]]
    colors = strategy_colors(series.hue for series in first)
    grid = make_grid(Counter(series.style for series in first), columns=len(measures), names=colors)
    for row in grid.rows:
        for panel, (measure, series) in zip(row.panels, lines.items(), strict=True):
            own = [one for one in series if one.style in row.variants]
            _draw_panel(panel, row, own, colors, ideal=(axis, measure) == _IN_PROPORTION)
    x = sorted({value for series in first for value in series.points["x"]})
    for panel, measure in zip(grid.rows[0].panels, measures, strict=True):
        scale_x(panel, x, unit_of(results.manifest, axis))
        drawn = pd.concat([series.points for series in lines[measure]])
        if measure == _EFFICIENCY:
            panel.set_ylim(0.0, 1.05 * max(1.0, drawn["high"].max()))
        else:
            values = drawn["y"]
            if measure in _OF_STEPS:  # a payload's one worker has nothing to do in virtual time
                values = values[values > 0]
            scale_y(panel, values, with_x=(axis, measure) == _IN_PROPORTION)
    _label(grid, results.manifest, axis, measures)
    no_zeros = any(_lacks_zeros(panel) for row in grid.rows for panel in row.panels)
    keys = _keys(lines, axis, no_zeros=no_zeros)
    draw_legends(grid, colors, results.manifest["repeats"], keys)
    return grid.figure


def _telling(results: Results, axis: str) -> list[str]:
    """Return how fast, how near that is to proportion, and what was learned, as far as known."""
    summary = results.summary()
    known = summary.columns[summary.notna().any()]
    speed = next((name for name in ("samples_per_s", "step_s") if name in known), "samples_per_s")
    learned = [name for name in ("final_accuracy", "final_loss") if name in known]
    near = [_EFFICIENCY] if axis == "workers" and knows_efficiency(summary) else []
    return [speed, *near, *learned[:1]]


def _draw_panel(
    panel: Axes, row: Row, lines: list[Series], colors: Mapping[str, str], ideal: bool
) -> None:
    heights = {name: 0.98 - _CROSS_ROW * place for place, name in enumerate(colors)}
    if any(series.points["diverged"].any() for series in lines):
        panel.set_ymargin(0.05 + _CROSS_ROW * len(colors))  # above the points
    widths = line_widths(colors)
    for series in lines:
        points, color, width = series.points, colors[series.hue], widths[series.hue]
        known = points[points["y"].notna()]
        look: dict[str, Any] = {"color": color, "linestyle": row.style(series.style)}
        panel.plot(known["x"], known["y"], linewidth=width, **look)
        panel.fill_between(
            known["x"].to_numpy(), known["low"], known["high"], color=color, alpha=0.15, linewidth=0
        )
        for censored, own in known.groupby("censored"):
            panel.plot(own["x"], own["y"], **_marker(color, 3 * width, filled=not censored))
        diverged = points.loc[points["diverged"], "x"]
        height = [heights[series.hue]] * len(diverged)
        panel.plot(diverged, height, color=color, transform=panel.get_xaxis_transform(), **_CROSS)
        if ideal and len(known) > 1:
            first = known.iloc[0]
            panel.plot(known["x"], first["y"] * known["x"] / first["x"], color=color, **_IDEAL)


def _label(grid: Grid, manifest: dict[str, Any], axis: str, measures: Sequence[str]) -> None:
    names = _NAMES | {_EFFICIENCY: name_of_efficiency(manifest)}
    for row in grid.rows:
        for panel, measure in zip(row.panels, measures, strict=True):
            if measure == _EFFICIENCY:
                panel.axhline(1.0, color="0.2", **_IDEAL)
            panel.set_ylabel(names.get(measure, measure))
            panel.grid(alpha=0.25)
            panel.spines[["top", "right"]].set_visible(False)
    for panel in grid.rows[-1].panels:
        panel.set_xlabel(_AXES.get(axis, axis))
    title = "Scaling" if axis == "workers" else f"By {_AXES.get(axis, axis)}"
    strategies = {cell["strategy"] for cell in manifest["cells"]}
    title += of_time(manifest)
    title += f", {strategies.pop()}" if len(strategies) == 1 else ""
    grid.figure.suptitle(title, x=grid.middle, fontweight="bold")


def _marker(color: str, size: float, *, filled: bool) -> dict[str, Any]:
    face = color if filled else "white"
    return {
        "color": color, "linestyle": "", "marker": "o", "markersize": size, "markerfacecolor": face,
    }  # fmt: skip


def _lacks_zeros(panel: Axes) -> bool:
    """Say whether a value has no place on a panel, because it is zero."""
    zeros = any((np.asarray(line.get_ydata()) == 0.0).any() for line in panel.lines)
    return zeros and panel.get_yscale() == "log"


def _keys(lines: Mapping[str, list[Series]], axis: str, *, no_zeros: bool) -> list[Line2D]:
    """Return what a reader must be told of the marks that are there, and of those that are not."""
    points = pd.concat([series.points for own in lines.values() for series in own])
    keys = []
    if _EFFICIENCY in lines or (axis == "workers" and "samples_per_s" in lines):
        keys.append(Line2D([], [], color="0.2", label="in proportion\nto workers", **_IDEAL))
    if points["censored"].any():
        mark = _marker("0.2", 5, filled=False)
        keys.append(Line2D([], [], label="target not\nreached by then", **mark))
    if points["diverged"].any():
        keys.append(Line2D([], [], color="0.2", label="diverged", **_CROSS))
    if no_zeros:
        keys.append(Line2D([], [], linestyle="", label="no time at all\nis not drawn"))
    return keys
