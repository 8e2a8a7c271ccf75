"""The plots: how fast each cell learns, where its steps' time goes, how stale its gradients are,
what an axis does to it.

Figures are made without pyplot, so that nothing is global and no display is needed.
"""

from pathlib import Path

from matplotlib.figure import Figure

from psbench.analysis.axis_plot import plot_axis
from psbench.analysis.axis_series import numeric_axes
from psbench.analysis.breakdown_plot import plot_breakdown
from psbench.analysis.convergence_plot import has_curves, plot_convergence
from psbench.analysis.results import Results
from psbench.analysis.staleness_plot import has_staleness, plot_staleness

__all__ = ["plot_axis", "plot_breakdown", "plot_convergence", "plot_staleness", "save_plots"]

_DPI = 150


def save_plots(results: Results, folder: Path) -> list[Path]:
    """Write each plot into `folder`, made if need be, and return their paths.

    convergence.png, breakdown.png and staleness.png, and for each axis of numbers scaling.png
    (workers) or by-<axis>.png. A plot without data (no cell evaluated twice, no timed step of a
    finished trial, no stale push) is left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    if has_curves(results):
        paths.append(_save(plot_convergence(results), folder / "convergence.png"))
    if results.summary()["compute_share"].notna().any():
        paths.append(_save(plot_breakdown(results), folder / "breakdown.png"))
    if has_staleness(results):
        paths.append(_save(plot_staleness(results), folder / "staleness.png"))
    if results.trials["status"].isin(["ok", "diverged"]).any():
        for axis in numeric_axes(results.manifest):
            name = "scaling.png" if axis == "workers" else f"by-{axis}.png"
            paths.append(_save(plot_axis(results, axis), folder / name))
    return paths


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=_DPI)
    return path
