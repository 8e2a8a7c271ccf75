"""What plots share: a colour for each strategy, a name for whatever else tells cells apart."""

from typing import Any

from psbench.analysis.frames import cell_columns, variant_axes
from psbench.units import count

_STRATEGIES = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F",
)  # fmt: skip
"""Okabe and Ito 2008, for colour-blind readers; without the yellow, too faint for lines."""

PART_COLORS = {
    "compute": "#4C566A",
    "wait": "#E9C46A",
    "comm": "#C8553D",
    "sync": "#D98C53",
    "update": "#6A9FB5",
    "other": "#D9D9D9",
}
"""Parts of a step's time: they differ in lightness too, so that they print in grey."""


def strategy_colors(manifest: dict[str, Any]) -> dict[str, str]:
    """Return a colour for each strategy's label, in the spec's order; the ninth is the first's."""
    strategies = dict.fromkeys(cell["strategy"] for cell in manifest["cells"])
    return {name: _STRATEGIES[i % len(_STRATEGIES)] for i, name in enumerate(strategies)}


def variants(manifest: dict[str, Any]) -> dict[str, str]:
    """Return, for each cell id, what it is besides its strategy: "4 workers, lr 0.1"."""
    names = {}
    for cell_id, columns in cell_columns(manifest).items():
        parts = [count(columns["workers"], "worker")]
        parts += [f"{axis.rpartition('.')[2]} {columns[axis]}" for axis in variant_axes(manifest)]
        names[cell_id] = ", ".join(parts)
    return names
