"""Convergence: what an evaluation found against samples and against seconds."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from psbench.analysis.looks import strategy_colors, variants
from psbench.analysis.results import Results

_LINE_STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


def plot_convergence(results: Results) -> Figure:
    """Return accuracy (loss, where there is none) against samples and against training seconds.

    One line a cell: the median over repeats, in a band from the least to the greatest. The colour
    is the strategy; the line style is the number of workers and whatever else varies.
    """
    evals = results.evals
    metric = "accuracy" if evals["accuracy"].notna().any() else "loss"
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    by_samples, by_seconds = figure.subplots(1, 2, sharey=True)
    colors = strategy_colors(results.manifest)
    variant = variants(results.manifest)
    styles = _line_styles(variant)
    # Synchronous strategies learn alike: a line below another is to show at its edges.
    widths = dict(zip(colors, np.linspace(2.8, 1.4, len(colors)), strict=True))
    for cell_id, own in evals.groupby("cell_id", sort=False):
        strategy = own["strategy"].iloc[0]
        look = {
            "color": colors[strategy],
            "linestyle": styles[variant[str(cell_id)]],
            "linewidth": widths[strategy],
        }
        for axes, x in ((by_samples, "samples"), (by_seconds, "seconds")):
            _draw_line(axes, own, x, metric, look)
    _label(figure, by_samples, by_seconds, metric)
    _draw_target(results, metric, (by_samples, by_seconds))
    _draw_legend(figure, colors, styles, results.manifest["repeats"])
    return figure


def _draw_line(axes: Axes, evals: pd.DataFrame, x: str, metric: str, look: dict[str, Any]) -> None:
    # Repeats evaluate after the same steps, but not after the same seconds.
    steps = evals.groupby("step")
    middle = steps[x].median()
    values = steps[metric]
    axes.plot(middle, values.median(), **look)
    band = (values.min(), values.max())
    axes.fill_between(middle, *band, color=look["color"], alpha=0.15, linewidth=0)


def _draw_target(results: Results, metric: str, panels: tuple[Axes, Axes]) -> None:
    targets = [cell["target"] or {} for cell in results.manifest["cells"]]
    for goal in {target[metric] for target in targets if target.get(metric) is not None}:
        for axes in panels:
            axes.axhline(goal, color="0.3", linestyle=(0, (1, 2)), linewidth=1.2, zorder=1)
        panels[0].annotate(
            f"target {goal:g}", (0.0, goal), xycoords=("axes fraction", "data"),
            xytext=(4, 3), textcoords="offset points", color="0.3",
        )  # fmt: skip


def _label(figure: Figure, by_samples: Axes, by_seconds: Axes, metric: str) -> None:
    better = "higher" if metric == "accuracy" else "lower"
    figure.suptitle(f"Convergence: {better} and further left is better", fontweight="bold")
    by_samples.set(title="which needs less data", xlabel="samples trained on, all workers together")
    by_seconds.set(title="which is done sooner", xlabel="training time (s)")
    unit = "fraction of test samples right" if metric == "accuracy" else "mean loss a test sample"
    by_samples.set_ylabel(f"{metric} ({unit})")
    by_samples.xaxis.set_major_formatter("{x:,.0f}")
    for axes in (by_samples, by_seconds):
        axes.set_xlim(left=0)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)


def _draw_legend(
    figure: Figure, colors: dict[str, str], styles: dict[str, Any], repeats: int
) -> None:
    lines = [Line2D([], [], color=color, linewidth=3, label=name) for name, color in colors.items()]
    if len(styles) > 1:
        lines += [
            Line2D([], [], color="0.2", linestyle=style, label=name)
            for name, style in styles.items()
        ]
    title = f"median of {repeats} repeats,\nband min to max" if repeats > 1 else "one repeat"
    figure.legend(handles=lines, loc="outside right upper", frameon=False, title=title)


def _line_styles(variant: dict[str, str]) -> dict[str, Any]:
    names = dict.fromkeys(variant.values())
    return {name: _LINE_STYLES[i % len(_LINE_STYLES)] for i, name in enumerate(names)}
