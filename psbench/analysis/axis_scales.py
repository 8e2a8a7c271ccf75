"""The scales of a picture against an axis: by differences or by factors, and what ticks say."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from psbench.units import format_bytes, format_rate, format_seconds

_WIDE = 30.0  # how many times its least the greatest value is where an axis is logarithmic
_GROWTH = 1.8  # or each value so many times the one before
_MOST_TICKS = 10
_THOUSAND = 1000.0
_SMALL = 1e-4  # what is less, Python writes with an exponent
_WIDTH = 4.0  # inches of a panel's x axis, about
_LETTER = 0.09  # inches of a character below it, and of half the space between two texts
_SHOW: dict[str, Callable[[float], str]] = {
    "": "{:g}".format,
    "B": format_bytes,
    "s": format_seconds,
    "B/s": format_rate,
}


def scale_x(panel: Axes, values: Sequence[float], unit: str) -> None:
    """Scale the x axis for rising `values` of a unit ("B", "s", "B/s" or "")."""
    show = _SHOW[unit]
    if is_logarithmic(values):
        panel.set_xscale("log", base=2)
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.xaxis.minorticks_off()
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show(value)))
    if len(values) <= _MOST_TICKS:
        texts = [show(value) for value in values]
        panel.set_xticks(values, _apart(values, texts, is_logarithmic(values)))


def scale_y(panel: Axes, values: "pd.Series[float]", with_x: bool) -> None:
    """Scale the y axis for `values`; `with_x`: as the x axis."""
    known = values[np.isfinite(values)]
    wide = len(known) and known.min() > 0 and known.max() > _WIDE * known.min()
    if wide or (with_x and panel.get_xscale() == "log"):
        # Proportion is a straight line where both axes are logarithmic.
        panel.set_yscale("log", nonpositive="mask")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if wide else (1, 2, 3, 5, 7)))
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(_PLAIN)
    elif len(known) and known.max() >= _THOUSAND:
        panel.yaxis.set_major_formatter(_PLAIN)


def is_logarithmic(values: Sequence[float]) -> bool:
    """Return whether rising `values` are better seen by their factors than by their differences."""
    if len(values) < 2 or values[0] <= 0:
        return False
    growth = [later / earlier for earlier, later in pairwise(values)]
    return values[-1] > _WIDE * values[0] or min(growth) >= _GROWTH


def _apart(values: Sequence[float], texts: Sequence[str], logarithmic: bool) -> list[str]:
    """Return the texts of ticks at rising `values`, without those that would touch the one
    before."""
    places = np.log(values) if logarithmic else np.asarray(values, float)
    inches = (places - places[0]) * _WIDTH / max(places[-1] - places[0], 1e-300)
    shown: list[str] = []
    end = -np.inf
    for place, text in zip(inches, texts, strict=True):
        half = (len(text) + 1) * _LETTER / 2
        shown.append(text if place - half >= end else "")
        end = place + half if shown[-1] else end
    return shown


def _plain(value: float) -> str:
    """Return a number without an exponent."""
    if 0 < abs(value) < _SMALL:
        return np.format_float_positional(value, precision=3, fractional=False, trim="-")
    return f"{value:,g}"


_PLAIN = FuncFormatter(lambda value, _: _plain(value))
