"""Rows of panels with shared axes, and their legends: for more lines than one panel can hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from psbench.units import count

MAX_LINES = 8
"""More in one panel are a tangle."""
MAX_ROWS = 6

_STYLES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
_PANEL = (4.6, 3.0)  # inches
_ONE_ROW = 4.8
_LEGEND = 1.8
_HANDLE, _LETTER = 0.6, 0.08  # inches of a legend: the line with the space around, a character
_LABEL = 32  # characters of a line


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of panels, and the variants whose lines are in it."""

    panels: Sequence[Axes]
    variants: list[str]

    def style(self, variant: str) -> Any:
        """Return the line style of a variant."""
        return _STYLES[self.variants.index(variant)]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A figure and its rows of panels; `num_left_out` variants found no place. `middle` is that of
    a row of panels, of the figure's width."""

    figure: Figure
    rows: list[Row]
    num_left_out: int
    middle: float


def make_grid(
    num_lines: Mapping[str, int],
    columns: int,
    names: Iterable[str] = (),
    sharey: Literal["all", "col"] = "col",
    apart: bool = False,
) -> Grid:
    """Return panels for variants that have so many lines each; at most MAX_ROWS rows. The legend
    will have `names` too.

    `apart`: each variant has a row of its own.
    """
    rows = [[variant] for variant in num_lines] if apart else rows_of_lines(num_lines)
    shown = rows[:MAX_ROWS]
    height = _ONE_ROW if len(shown) == 1 else 1.2 + _PANEL[1] * len(shown)
    styles = [fill(name, _LABEL) for name in num_lines if len(num_lines) > 1]
    beside = _beside([*names, *styles], len(shown))
    figure = Figure(figsize=(beside + _PANEL[0] * columns, height), layout="constrained")
    panels = figure.subplots(len(shown), columns, sharex="col", sharey=sharey, squeeze=False)
    pairs = zip(panels, shown, strict=True)
    return Grid(
        figure=figure,
        rows=[Row(panels=list(own), variants=names) for own, names in pairs],
        num_left_out=sum(len(row) for row in rows[MAX_ROWS:]),
        middle=_PANEL[0] * columns / 2 / figure.get_figwidth() if len(shown) == 1 else 0.5,
    )


def _beside(labels: Iterable[str], rows: int) -> float:
    """Return the inches that a legend takes beside its panels; that of several rows is below."""
    return max(_LEGEND, *map(_inches, labels)) if rows == 1 else _LEGEND


def _columns(labels: Sequence[str], width: float) -> int:
    """Return in how many columns a legend is no wider than `width` inches."""
    inches = [_inches(label) for label in labels]
    return MAX_LINES if sum(inches) <= width else max(1, int(width / max(inches)))


def _inches(label: str) -> float:
    """Return the width of an entry of a legend, about."""
    return _HANDLE + _LETTER * max(map(len, label.splitlines()), default=0)


def rows_of_lines(num_lines: Mapping[str, int]) -> list[list[str]]:
    """Return variants in rows, in their order.

    A row holds at most MAX_LINES lines, unless one variant alone has more, and no more variants
    than there are styles.
    """
    rows: list[list[str]] = []
    room = 0
    for variant, lines in num_lines.items():
        if lines > room or len(rows[-1]) == len(_STYLES):
            rows.append([])
            room = MAX_LINES
        rows[-1].append(variant)
        room -= lines
    return rows


def draw_legends(
    grid: Grid, colors: Mapping[str, str], repeats: int, extra: Iterable[Line2D] = ()
) -> None:
    """Say what the colours, `extra` and each row's line styles mean."""
    title = f"median of {repeats} repeats,\nband min to max" if repeats > 1 else "one repeat"
    handles = [
        Line2D([], [], color=color, linewidth=3, label=name) for name, color in colors.items()
    ]
    handles += extra
    if len(grid.rows) == 1:
        (row,) = grid.rows
        if len(row.variants) > 1:
            handles += _style_lines(row)
        grid.figure.legend(handles=handles, loc="outside right upper", frameon=False, title=title)
        return
    for row in grid.rows:
        if len(row.variants) == 1:
            row.panels[0].set_title(row.variants[0], loc="left", fontweight="bold")
        else:
            beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            row.panels[-1].legend(handles=_style_lines(row), frameon=False, **beside)
    title = title.replace("\n", " ")
    if grid.num_left_out:
        title += f"; {count(grid.num_left_out, 'more variant')} not drawn"
    ncols = _columns([str(own.get_label()) for own in handles], grid.figure.get_figwidth())
    grid.figure.legend(
        handles=handles, loc="outside lower center", ncols=ncols, frameon=False, title=title
    )


def _style_lines(row: Row) -> list[Line2D]:
    return [
        Line2D([], [], color="0.2", linestyle=row.style(variant), label=fill(variant, _LABEL))
        for variant in row.variants
    ]
