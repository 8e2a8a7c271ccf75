"""The table of `psbench bench`: one a transport and number of workers, sizes down."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from psbench.results import BenchRow
from psbench.units import count, format_bytes, format_seconds

_GIGA = 1e9


def print_bench(rows: Sequence[BenchRow], console: Console) -> None:
    """Print a table for each transport and number of workers, and what limits them all."""
    for (transport, workers), own in groupby(_ordered(rows), lambda r: (r.transport, r.workers)):
        table = _table(list(own))
        wide = console.options.update(width=1000)
        table.width = Measurement.get(console, wide, table).maximum
        title = f"{transport}, {count(workers, 'worker')}: median time of a call"
        console.print(Text(title, style="bold"), soft_wrap=True)
        console.print(table, crop=False)
        console.print()
    for note in _notes(rows):
        console.print(Text(f"* {note}"), soft_wrap=True)


def wrong_lines(rows: Iterable[BenchRow]) -> Iterator[str]:
    """Yield a line for each point with wrong results."""
    for row in rows:
        if row.wrong:
            yield (
                f"WRONG RESULTS: {row.algorithm} over {row.transport}, "
                f"{count(row.workers, 'worker')}, {format_bytes(row.nbytes)}: "
                f"{count(row.wrong, 'element')} differ from the exact sum"
            )


def _table(rows: Sequence[BenchRow]) -> Table:
    algorithms = list(dict.fromkeys(row.algorithm for row in rows))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("size", justify="right")
    for name in algorithms:
        table.add_column(name, justify="right")
    for name in ("fastest", "busbw\nGB/s", "of them,\nmiddle half"):
        table.add_column(name, justify="left" if name == "fastest" else "right")
    for nbytes, own in groupby(rows, lambda row: row.nbytes):
        points = {row.algorithm: row for row in own}
        best = min(points.values(), key=lambda row: row.seconds)
        table.add_row(
            format_bytes(nbytes),
            *(_time(points.get(name), best) for name in algorithms),
            best.algorithm,
            f"{best.busbw / _GIGA:#.3g}",
            f"{format_seconds(best.seconds_q1)} – {format_seconds(best.seconds_q3)}",
        )
    return table


def _time(row: BenchRow | None, best: BenchRow) -> Text:
    if row is None:
        return Text("-")
    if row.wrong:
        return Text(f"WRONG {format_seconds(row.seconds)}", style="bold red")
    shown = format_seconds(row.seconds)
    if row.picked is not None:
        shown = f"{row.picked} {shown}"
    return Text(shown, style="bold" if row is best else "")


def _notes(rows: Sequence[BenchRow]) -> Iterator[str]:
    if not rows:
        return
    first = rows[0]
    yield (
        f"{first.dtype}; a call lasts as long as its slowest worker, and every sum is checked;"
        " busbw (bytes that cross each port of an all-reduce, over time) and the middle half of the"
        " calls are the fastest's"
    )
    limit = f"memory is copied at {first.copy_limit_1 / _GIGA:.3g} GB/s by one process"
    if first.copy_limit_2 is not None:
        limit += f", {first.copy_limit_2 / _GIGA:.3g} by two at once"
    yield f"{limit} (bytes read + written)"
    if not first.pinned:
        yield "processes not held to cores: two may share one for a while, so calls scatter more"


def _ordered(rows: Sequence[BenchRow]) -> list[BenchRow]:
    return sorted(rows, key=lambda row: (row.transport, row.workers, row.nbytes))
