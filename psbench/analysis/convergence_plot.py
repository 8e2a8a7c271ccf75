"""Convergence: what an evaluation found against samples and against seconds."""

from collections import Counter
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from psbench.analysis.cells import of_time
from psbench.analysis.frames import variant_axes
from psbench.analysis.looks import line_widths, strategy_colors
from psbench.analysis.panels import Grid, draw_legends, make_grid
from psbench.analysis.results import Results
from psbench.analysis.variants import variants
from psbench.errors import ResultsError
from psbench.results import told_in_words

Metric = Literal["accuracy", "loss"]


def plot_convergence(results: Results, metric: Metric | None = None) -> Figure:
    """Return `metric` (accuracy, or loss where there is none) against samples and against training
    seconds.

    One line a cell: the median over repeats, in a band from the least to the greatest. The colour
    is the strategy; the line style is the number of workers and whatever else varies, which have
    rows of their own where there are many, or where it varies who is slow. A cell
    evaluated once is a dot. Raises ResultsError where no cell was evaluated twice.
    """
    if not has_curves(results):
        raise ResultsError(f"{results.path} has no cell evaluated twice to draw; set eval_every")
    evals = results.evals
    metric = metric or ("accuracy" if evals["accuracy"].notna().any() else "loss")
    variant = variants(results.manifest)
    evaluated = dict.fromkeys(evals["cell_id"])
    every = strategy_colors(cell["strategy"] for cell in results.manifest["cells"])
    colors = {name: color for name, color in every.items() if name in set(evals["strategy"])}
    num_lines = Counter(variant[cell_id] for cell_id in evaluated)
    apart = bool(told_in_words(variant_axes(results.manifest)))
    grid = make_grid(num_lines, columns=2, names=colors, sharey="all", apart=apart)
    widths = line_widths(colors)
    for row in grid.rows:
        for cell_id in (cell_id for cell_id in evaluated if variant[cell_id] in row.variants):
            own = evals[evals["cell_id"] == cell_id]
            strategy = own["strategy"].iloc[0]
            look = {
                "color": colors[strategy],
                "linestyle": row.style(variant[cell_id]),
                "linewidth": widths[strategy],
            }
            for axes, x in zip(row.panels, ("samples", "seconds"), strict=True):
                _draw_line(axes, own, x, metric, look)
    _label(grid, metric, of_time(results.manifest))
    _draw_target(results, metric, grid)
    draw_legends(grid, colors, results.manifest["repeats"])
    return grid.figure


def has_curves(results: Results) -> bool:
    """Return whether any cell was evaluated after two steps or more."""
    return bool((results.evals.groupby("cell_id")["step"].nunique() > 1).any())


def _draw_line(axes: Axes, evals: pd.DataFrame, x: str, metric: str, look: dict[str, Any]) -> None:
    # Repeats evaluate after the same steps, but not after the same seconds.
    steps = evals.groupby("step")
    middle = steps[x].median()
    values = steps[metric]
    marker = "o" if len(middle) == 1 else None
    axes.plot(middle, values.median(), marker=marker, **look)
    band = (values.min(), values.max())
    axes.fill_between(middle, *band, color=look["color"], alpha=0.15, linewidth=0)


def _draw_target(results: Results, metric: str, grid: Grid) -> None:
    targets = [cell["target"] or {} for cell in results.manifest["cells"]]
    for goal in {target[metric] for target in targets if target.get(metric) is not None}:
        for axes in (axes for row in grid.rows for axes in row.panels):
            axes.axhline(goal, color="0.3", linestyle=(0, (1, 2)), linewidth=1.2, zorder=1)
        grid.rows[0].panels[0].annotate(
            f"target {goal:g}", (0.0, goal), xycoords=("axes fraction", "data"),
            xytext=(4, 3), textcoords="offset points", color="0.3",
        )  # fmt: skip


def _label(grid: Grid, metric: str, of_time: str) -> None:
    better = "higher" if metric == "accuracy" else "lower"
    title = f"Convergence{of_time}: {better} and further left is better"
    grid.figure.suptitle(title, x=grid.middle, fontweight="bold")
    unit = "fraction of test samples right" if metric == "accuracy" else "mean loss a test sample"
    for row in grid.rows:
        row.panels[0].set_ylabel(f"{metric}\n({unit})")
        for axes in row.panels:
            axes.set_xlim(left=0)
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
    by_samples, by_seconds = grid.rows[-1].panels
    if len(grid.rows) == 1:  # of several, each has its variant for a title
        by_samples.set_title("which needs less data")
        by_seconds.set_title("which is done sooner")
    by_samples.set_xlabel("samples trained on, all workers together")
    by_seconds.set_xlabel("training time (s), from the end of the warm-up")
    by_samples.xaxis.set_major_formatter("{x:,.0f}")
