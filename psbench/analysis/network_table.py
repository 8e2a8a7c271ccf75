"""Tables of a network: what was measured of a link, and what all-reduces are predicted to take."""

from collections.abc import Mapping, Sequence

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from psbench.network import Link
from psbench.units import format_bytes, format_seconds

_MEANINGS = {
    "latency": "L, a message under way",
    "overhead": "o, a message at each side",
    "byte_time": "G, a byte",
    "reduce_time": "gamma, a byte added",
}


def print_link(link: Link, uncertainty: Link, residuals: Sequence[float], console: Console) -> None:
    """Print a link's parameters with half their 95 % intervals, and how far off the model is."""
    table = _table("link", "", "time", "± (95 %)", "")
    for name, meaning in _MEANINGS.items():
        value, spread = getattr(link, name), getattr(uncertainty, name)
        rate = f"{1 / value / 1e9:.3g} GB/s" if name.endswith("_time") and value > 0 else ""
        table.add_row(name, meaning, _time(value), _time(spread), rate)
    console.print(table)
    middle, high = np.quantile(np.abs(residuals), (0.5, 0.9)) * 100
    console.print(
        Text(
            f"* the model is off by {middle:.0f} % of a measured time in the median, "
            f"{high:.0f} % in the worst tenth"
        ),
        soft_wrap=True,
    )


def print_predictions(
    seconds: Mapping[str, float], workers: int, nbytes: int, console: Console
) -> None:
    """Print what each algorithm is predicted to take, the fastest first."""
    fastest = min(seconds.values())
    table = _table("algorithm", "predicted", "of the fastest")
    for name, value in seconds.items():
        ratio = f"{value / fastest:.2f}" if fastest > 0 else "-"
        table.add_row(name, format_seconds(value), ratio)
    title = f"an all-reduce of {format_bytes(nbytes)} by {workers} workers"
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for number, name in enumerate(columns):
        is_text = number == 0 or name == ""
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    return table


def _time(seconds: float) -> str:
    """Return three digits also of less than a nanosecond."""
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else format_seconds(seconds)
