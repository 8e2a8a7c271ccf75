"""The summary for people and for programs: a terminal table, an HTML table, JSON records."""

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from psbench.analysis.frames import variant_axes
from psbench.analysis.notes import notes
from psbench.analysis.results import Results
from psbench.analysis.summary import PARTS
from psbench.units import count, format_bytes

_DURATIONS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
_ABSENT = "-"


@dataclass(frozen=True, kw_only=True)
class _Column:
    header: str
    """One or two lines, the unit in the second."""
    cells: list[str]
    justify: Literal["left", "right"] = "right"


def summary_table(results: Results) -> Table:
    """Return the summary for a terminal: one row a cell; columns without data are left out."""
    table = Table(
        title=Text(_title(results)), title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False,
    )  # fmt: skip
    columns = _columns(results)
    for column in columns:
        table.add_column(Text(column.header), justify=column.justify, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    return table


def print_summary(results: Results, console: Console) -> None:
    """Print the table and its notes at their natural width.

    A terminal that is too narrow wraps whole lines, which reads better than words broken in cells.
    """
    table = summary_table(results)
    wide = console.options.update(width=1000)
    table.width = Measurement.get(console, wide, table).maximum
    console.print(table, crop=False)
    for note in notes(results):
        console.print(Text(f"* {note}"), soft_wrap=True)


def summary_html(results: Results) -> str:
    """Return the table and its notes as HTML, for notebooks."""
    columns = _columns(results)
    style = {column.header: f"text-align: {column.justify}" for column in columns}
    head = "".join(
        f'<th style="{style[column.header]}">{_lines(column.header)}</th>' for column in columns
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style[column.header]}; white-space: nowrap">'
            f"{html.escape(column.cells[position])}</td>"
            for column in columns
        )
        + "</tr>"
        for position in range(len(columns[0].cells))
    )
    footnotes = "".join(f"<li>{html.escape(note)}</li>" for note in notes(results))
    return (
        f"<table><caption>{html.escape(_title(results))}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{footnotes}</ul>" if footnotes else "")
    )


def summary_records(results: Results) -> list[dict[str, Any]]:
    """Return the summary as JSON objects, one a cell; what is not finite is None.

    A censored target is None too: `num_censored` and the `_bound` beside it tell it from a missing
    one.
    """
    return [
        {str(name): _plain(value) for name, value in record.items()}
        for record in results.summary().to_dict("records")
    ]


def _title(results: Results) -> str:
    repeats = results.manifest["repeats"]
    name = results.manifest["spec"].get("name", results.path.name)
    return f"{name}: medians over {count(repeats, 'repeat')}, warm-up left out"


def _columns(results: Results) -> list[_Column]:
    summary = results.summary()
    unit, size = _duration_unit(summary["step_s"].max())
    columns = [
        _Column(header="strategy", cells=list(summary["strategy"]), justify="left"),
        _Column(header="workers", cells=[str(workers) for workers in summary["workers"]]),
        *(_axis(summary, axis) for axis in variant_axes(results.manifest)),
        _trials_ok(summary),
        _figures(summary, "samples_per_s", "samples\n/s", _significant),
        _Column(
            header=f"step, {unit}\nmedian (min–max)",
            cells=[_spread(row, size) for row in summary.to_dict("records")],
        ),
        _figures(summary, "step_p95_s", f"p95\n{unit}", lambda value: _significant(value / size)),
        *(
            _figures(summary, f"{part}_share", f"{part}\n%", lambda value: f"{value * 100:.0f}")
            for part in PARTS[:-1]
        ),
        _figures(summary, "busiest_bytes_per_step", "busiest\nnode/step", format_bytes),
        _staleness(summary),
        _figures(summary, "final_accuracy", "accuracy", lambda value: f"{value:.3f}"),
        _to_target(summary),
    ]
    if summary["final_accuracy"].isna().all():
        columns.insert(-1, _figures(summary, "final_loss", "loss", _significant))
    return [column for column in columns if any(cell != _ABSENT for cell in column.cells)]


def _figures(
    summary: pd.DataFrame, name: str, header: str, show: Callable[[float], str]
) -> _Column:
    cells = [_ABSENT if math.isnan(value) else show(value) for value in summary[name]]
    return _Column(header=header, cells=cells)


def _axis(summary: pd.DataFrame, axis: str) -> _Column:
    return _Column(
        header=axis.rpartition(".")[2],
        cells=[_ABSENT if pd.isna(value) else f"{value}" for value in summary[axis]],
    )


def _trials_ok(summary: pd.DataFrame) -> _Column:
    counts = list(zip(summary["num_ok"], summary["num_trials"], strict=True))
    all_ok = all(ok == total for ok, total in counts)
    return _Column(
        header="ok",
        cells=[_ABSENT if all_ok else f"{ok}/{total}" for ok, total in counts],
    )


def _spread(row: Mapping[Any, Any], size: float) -> str:
    middle, low, high = (row[name] / size for name in ("step_s", "step_s_min", "step_s_max"))
    if math.isnan(middle):
        return _ABSENT
    if low == high:
        return _significant(middle)
    return f"{_significant(middle)} ({_significant(low)}–{_significant(high)})"


def _staleness(summary: pd.DataFrame) -> _Column:
    means, maxima = summary["staleness_mean"], summary["staleness_max"]
    return _Column(
        header="staleness\nmean, max",
        cells=[
            _ABSENT if math.isnan(mean) else f"{mean:.1f}, {most:.0f}"
            for mean, most in zip(means, maxima, strict=True)
        ],
    )


def _to_target(summary: pd.DataFrame) -> _Column:
    times, bounds = summary["time_to_target_s"], summary["time_to_target_s_bound"]
    return _Column(
        header="time to\ntarget",
        cells=[
            f"> {_significant(bound)} s" if math.isinf(time) else _seconds(time)
            for time, bound in zip(times, bounds, strict=True)
        ],
    )


def _duration_unit(longest: float) -> tuple[str, float]:
    """Return the unit, and its seconds, in which durations up to `longest` read well."""
    if longest >= 10:
        return _DURATIONS[0]
    return _DURATIONS[2] if longest < 1e-3 else _DURATIONS[1]


def _significant(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"


def _seconds(value: float) -> str:
    return _ABSENT if math.isnan(value) else f"{_significant(value)} s"


def _lines(header: str) -> str:
    return "<br>".join(html.escape(line) for line in header.split("\n"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
