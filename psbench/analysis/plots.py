"""The two plots: how fast each cell learns, and where the time of its steps goes.

Figures are made without pyplot, so that nothing is global and no display is needed.
"""

from pathlib import Path

from matplotlib.figure import Figure

from psbench.analysis.breakdown_plot import plot_breakdown
from psbench.analysis.convergence_plot import plot_convergence
from psbench.analysis.results import Results

__all__ = ["plot_breakdown", "plot_convergence", "save_plots"]

_DPI = 150


def save_plots(results: Results, folder: Path) -> list[Path]:
    """Write convergence.png and breakdown.png into `folder`, made if need be; return their paths.

    A plot without data (no evaluation, no timed step of a finished trial) is left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    if len(results.evals):
        paths.append(_save(plot_convergence(results), folder / "convergence.png"))
    if results.summary()["compute_share"].notna().any():
        paths.append(_save(plot_breakdown(results), folder / "breakdown.png"))
    return paths


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=_DPI)
    return path
