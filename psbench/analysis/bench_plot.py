"""The picture of `psbench bench`: time against size, and the limit that memory sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from psbench.analysis.looks import strategy_colors
from psbench.errors import ResultsError
from psbench.results import BenchRow
from psbench.units import count, format_bytes, format_seconds

_PANEL = (4.4, 3.6)  # inches
_LIMIT: dict[str, Any] = {"color": "0.45", "linestyle": (0, (4, 2)), "linewidth": 1.2, "zorder": 1}
_DPI = 144


def save_bench_plot(rows: Sequence[BenchRow], path: Path) -> None:
    """Draw `rows` into the file `path`, whose ending says the format.

    Raises ResultsError where it cannot be written, or there is nothing to draw.
    """
    figure = plot_bench(rows)
    try:
        figure.savefig(path, dpi=_DPI)
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot draw {path}: {' '.join(str(error).split())}") from error


def plot_bench(rows: Sequence[BenchRow]) -> Figure:
    """Return a panel for each transport (down) and number of workers (across).

    A line an algorithm: the median, in a band between the quartiles.
    """
    drawn = [row for row in rows if row.nbytes > 0]
    if not drawn:
        raise ResultsError("no call moved a byte: there is nothing to draw")
    transports = list(dict.fromkeys(row.transport for row in drawn))
    worlds = sorted({row.workers for row in drawn})
    colors = strategy_colors(row.algorithm for row in drawn)
    size = (1.6 + _PANEL[0] * len(worlds), 0.6 + _PANEL[1] * len(transports))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(
        len(transports), len(worlds), sharex="all", sharey="all", squeeze=False
    )
    for line, transport in zip(panels, transports, strict=True):
        line[0].set_ylabel("median time of a call")
        for panel, workers in zip(line, worlds, strict=True):
            own = [row for row in drawn if (row.transport, row.workers) == (transport, workers)]
            panel.set_title(f"{transport}, {count(workers, 'worker')}", loc="left", fontsize=10)
            _draw(panel, own, colors)
    _scales(panels[0, 0], sorted({row.nbytes for row in drawn}))
    for panel in panels[-1]:
        panel.set_xlabel("bytes of the vector")
        panel.tick_params(axis="x", labelrotation=45)
    handles = [Line2D([], [], color=color, label=name) for name, color in colors.items()]
    handles.append(
        Line2D(
            [],
            [],
            label="copy limit of memory,\nwhich caches may beat:\n2 x workers x bytes",
            **_LIMIT,
        )
    )
    title = "median, band\nbetween quartiles"
    figure.legend(handles=handles, loc="outside right upper", frameon=False, title=title)
    return figure


def _draw(panel: Axes, rows: Sequence[BenchRow], colors: dict[str, str]) -> None:
    for name, color in colors.items():
        own = sorted((r for r in rows if r.algorithm == name), key=lambda row: row.nbytes)
        sizes = [row.nbytes for row in own]
        panel.plot(sizes, [r.seconds for r in own], color=color, marker="o", markersize=3)
        low, high = [r.seconds_q1 for r in own], [r.seconds_q3 for r in own]
        panel.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0)
    if rows:
        sizes = sorted({row.nbytes for row in rows})
        rate = rows[0].copy_limit_2 or rows[0].copy_limit_1
        limit = 2 * rows[0].workers * np.array(sizes) / rate
        panel.plot(sizes, limit, **_LIMIT)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _scales(panel: Axes, sizes: Sequence[int]) -> None:
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(FixedLocator(list(sizes)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _short(nbytes: float) -> str:
    """Return "64 KiB" for what is shown as "64.0 KiB" beside sizes that are no powers of two."""
    number, unit = format_bytes(nbytes).split()
    return f"{float(number):g} {unit}"
