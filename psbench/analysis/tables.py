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

from psbench.analysis.notes import notes
from psbench.analysis.results import Results
from psbench.analysis.scaling import knows_efficiency
from psbench.analysis.server_measures import busy_share
from psbench.analysis.summary import PARTS
from psbench.analysis.variants import ABSENT, NAMELESS, variant_columns
from psbench.units import count, format_bytes

_AUTO = "auto"
_DURATIONS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


@dataclass(frozen=True, kw_only=True)
class _Column:
    header: str
    """One or two lines, the unit in the second."""
    cells: list[str]
    justify: Literal["left", "right"] = "right"


def summary_table(results: Results) -> Table:
    """Return the summary for a terminal: one row a cell; columns without data are left out."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    columns = _columns(results)
    for column in columns:
        table.add_column(Text(column.header), justify=column.justify, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    return table


def print_summary(results: Results, console: Console) -> None:
    """Print the title, the table and its notes at their natural width.

    A terminal that is too narrow wraps whole lines, which reads better than words broken in cells.
    """
    table = summary_table(results)
    wide = console.options.update(width=1000)
    table.width = Measurement.get(console, wide, table).maximum
    console.print(Text(_title(results), style="bold"), soft_wrap=True)
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
    summary = results.summary()
    workers = summary["workers"].unique()
    same = [count(int(workers[0]), "worker")] if len(workers) == 1 else []
    same += _carried(summary)
    parts = [" ".join(same)] if same else []
    parts += [f"medians over {count(repeats, 'repeat')}", "warm-up left out"]
    return f"{name}: {', '.join(parts)}"


def _carried(summary: pd.DataFrame) -> list[str]:
    """Return what carried the bytes of all cells, of none where live ones differ in that."""
    transports, live = _transports_of(summary), _live(summary)
    over = [f"over {transports[0]}"] if len(transports) == 1 else []
    if live.all():
        return over
    return ["live", *over, "and in virtual time"] if live.any() else ["in virtual time"]


def _columns(results: Results) -> list[_Column]:
    summary = results.summary()
    rows = summary.to_dict("records")
    unit, size = _duration_unit(summary["step_s"].max())
    columns = [
        _Column(header="strategy", cells=list(summary["strategy"]), justify="left"),
        _workers(summary),
        *(
            _Column(header=name, cells=texts, justify="left" if name in NAMELESS else "right")
            for name, texts in variant_columns(results.manifest, without="transport").items()
        ),
        _transport(summary, [cell["transport"] for cell in results.manifest["cells"]]),
        _trials_ok(summary),
        _figures(summary, "samples_per_s", "samples\n/s", _significant),
        *([_efficiency(summary)] if knows_efficiency(summary) else []),
        _with_spread(f"step, {unit}", [_step(row, size) for row in rows]),
        _figures(summary, "step_p95_s", f"p95\n{unit}", lambda value: _significant(value / size)),
        *(
            _figures(summary, f"{part}_share", f"{part}\n%", lambda value: f"{value * 100:.0f}")
            for part in PARTS[:-1]
        ),
        _figures(
            summary.assign(hidden=_hidden(summary, results.manifest["cells"])),
            "hidden",
            "hidden\ncomm %",
            _significant,
        ),
        _figures(summary, "busiest_bytes_per_step", "busiest\nnode/step", format_bytes),
        _figures(summary.assign(peak=_peak(summary)), "peak", "peak\nmemory", format_bytes),
        _figures(
            summary.assign(busy=busy_share(summary) * 100.0),
            "busy",
            "server\nbusy %",
            _significant,
        ),
        _staleness(summary),
        _figures(summary.assign(dropped=_dropped(summary)), "dropped", "dropped\n%", _significant),
        _figures(summary, "final_accuracy", "accuracy", lambda value: f"{value:.3f}"),
        _with_spread("to target, s", [_to_target(row) for row in rows]),
    ]
    if (summary["final_accuracy"].isna() & summary["final_loss"].notna()).any():
        columns.insert(-1, _figures(summary, "final_loss", "loss", _significant))
    return [column for column in columns if any(cell != ABSENT for cell in column.cells)]


def _figures(
    summary: pd.DataFrame, name: str, header: str, show: Callable[[float], str]
) -> _Column:
    cells = [ABSENT if math.isnan(value) else show(value) for value in summary[name]]
    return _Column(header=header, cells=cells)


def _efficiency(summary: pd.DataFrame) -> _Column:
    return _figures(summary, "efficiency", "efficiency", lambda value: f"{value:.2f}")


def _hidden(summary: pd.DataFrame, cells: list[dict[str, Any]]) -> "pd.Series[float]":
    """Return the percentage of each cell's communication that computing hides, where it may."""
    overlaps = np.array([bool(cell["fields"]["strategy"].get("overlap")) for cell in cells])
    hidden: pd.Series[float] = 1.0 - summary["exposed_comm_s"] / summary["comm_s"]
    return hidden.where(overlaps) * 100.0


def _peak(summary: pd.DataFrame) -> "pd.Series[float]":
    """Return the peak memory of each cell's largest node."""
    return summary[["worker_peak_memory", "server_peak_memory"]].max(axis=1)


def _dropped(summary: pd.DataFrame) -> "pd.Series[float]":
    """Return the percentage of each cell's pushes that were dropped, where any cell's were."""
    percent: pd.Series[float] = summary["dropped_share"] * 100.0
    return percent if (percent > 0).any() else percent * math.nan


def _trials_ok(summary: pd.DataFrame) -> _Column:
    counts = list(zip(summary["num_ok"], summary["num_trials"], strict=True))
    all_ok = all(ok == total for ok, total in counts)
    return _Column(
        header="ok",
        cells=[ABSENT if all_ok else f"{ok}/{total}" for ok, total in counts],
    )


def _workers(summary: pd.DataFrame) -> _Column:
    """Return the column of workers, without data where all cells have as many: the title has it."""
    workers = summary["workers"]
    same = workers.nunique() == 1
    return _Column(header="workers", cells=[ABSENT if same else f"{own}" for own in workers])


def _transport(summary: pd.DataFrame, asked: list[str]) -> _Column:
    """Return the column of realised transports, without data where all are the same.

    Where an axis has `auto` beside others, what it took is told from what others asked for.
    """
    if len(set(asked)) > 1:
        pairs = zip(summary["transport"], asked, strict=True)
        cells = [own if own == wanted else f"{own} ({wanted})" for own, wanted in pairs]
    else:
        told = len(_transports_of(summary)) > 1
        cells = [own if told and own != _AUTO else ABSENT for own in summary["transport"]]
    carried = [own if live else ABSENT for own, live in zip(cells, _live(summary), strict=True)]
    return _Column(header="transport", cells=carried, justify="left")


def _live(summary: pd.DataFrame) -> "pd.Series[bool]":
    """Return which cells' bytes were carried by something."""
    return summary["engine"] != "simulated"


def _transports_of(summary: pd.DataFrame) -> list[str]:
    """Return the transports that the cells were carried by, as far as that is known."""
    return [name for name in summary["transport"][_live(summary)].unique() if name != _AUTO]


def _with_spread(header: str, cells: list[str]) -> _Column:
    spread = any("–" in cell for cell in cells)
    return _Column(header=f"{header}\nmedian (min–max)" if spread else header, cells=cells)


def _step(row: Mapping[Any, Any], size: float) -> str:
    middle, low, high = (row[name] / size for name in ("step_s", "step_s_min", "step_s_max"))
    return ABSENT if math.isnan(middle) else _significant(middle) + _spread(low, high)


def _spread(low: float, high: float) -> str:
    return "" if low == high else f" ({_significant(low)}–{_significant(high)})"


def _staleness(summary: pd.DataFrame) -> _Column:
    means, maxima = summary["staleness_mean"], summary["staleness_max"]
    return _Column(
        header="staleness\nmean, max",
        cells=[
            ABSENT if math.isnan(mean) else f"{mean:.1f}, {most:.0f}"
            for mean, most in zip(means, maxima, strict=True)
        ],
    )


def _to_target(row: Mapping[Any, Any]) -> str:
    middle, bound, low, high = (
        row[f"time_to_target_s{end}"] for end in ("", "_bound", "_min", "_max")
    )
    if math.isnan(middle):
        return ABSENT
    if math.isinf(middle):
        return f"> {_significant(bound)}"
    return _significant(middle) + _spread(low, high)


def _duration_unit(longest: float) -> tuple[str, float]:
    """Return the unit, and its seconds, in which durations up to `longest` read well."""
    if longest >= 10:
        return _DURATIONS[0]
    return _DURATIONS[2] if longest < 1e-3 else _DURATIONS[1]


def _significant(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"


def _lines(header: str) -> str:
    return "<br>".join(html.escape(line) for line in header.split("\n"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
