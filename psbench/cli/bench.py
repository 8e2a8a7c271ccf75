"""`psbench bench`: time all-reduces, and rounds through a parameter server."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psbench.cli.streams import say, stdout_on_stderr
from psbench.units import parse_bytes

if TYPE_CHECKING:
    from psbench.results import BenchRow

WRONG = 1


def list_of(read: Callable[[str], Any]) -> Callable[..., tuple[Any, ...] | None]:
    """Return the callback of an option that takes values with commas between them."""

    def split(_: click.Context, __: click.Parameter, text: str | None) -> tuple[Any, ...] | None:
        if text is None:
            return None
        try:
            return tuple(dict.fromkeys(read(part.strip()) for part in text.split(",")))
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return split


def number_of_workers(text: str) -> int:
    """Return a number of workers; ValueError for anything else."""
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no number of workers; write it as in 2,4,8")
    return int(text)


def number_of_bytes(text: str) -> int:
    """Return a size, with its unit or in bytes; ValueError for anything else."""
    return int(text) if text.isdecimal() else parse_bytes(text)


@click.command("bench")
@click.option(
    "--algorithms",
    metavar="A,B",
    callback=list_of(str),
    help="Default: all that suit one host, and native.",
)
@click.option(
    "--transports",
    metavar="T,U",
    callback=list_of(str),
    help="gloo, shared_memory, object_store. Default: the first two.",
)
@click.option("--workers", metavar="N,M", callback=list_of(number_of_workers), help="Default: 2,4.")
@click.option(
    "--sizes",
    metavar="S,T",
    callback=list_of(number_of_bytes),
    help="Such as 1024,64KiB,100MB. Default: 1 KiB to 16 MiB, each 4 times the last.",
)
@click.option(
    "--network",
    type=click.Path(dir_okay=False),
    help="A file of psbench calibrate, by which auto picks. Default: measured first.",
)
@click.option("--dtype", default="float32", show_default=True, help="Of the elements summed.")
@click.option(
    "--calls",
    default=20,
    show_default=True,
    help="Timed calls of each algorithm and size; a quarter of them from 16 MiB up.",
)
@click.option("--pin/--no-pin", default=True, help="Hold process r to core r mod cores. Default.")
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object a point on stdout.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw time against size into this file (.png, .svg, .pdf).",
)
def command(network: str | None, as_json: bool, plot: Path | None, **options: Any) -> None:
    """Time all-reduces of vectors: each algorithm, size, transport and number of workers.

    \b
    Example:
        psbench bench --algorithms ring,tree,native --workers 2,4 --sizes 64KiB,4MiB

    Beside the algorithms of `psbench schedule`, `native` is the transport's own all-reduce, where
    it has one (gloo), and `push_pull` a round in which all workers push to one parameter server and
    pull the sum; `auto` is the algorithm predicted to be fastest. Ray runs embedded in this
    process, unless RAY_ADDRESS names a cluster to join. Exit code 1 says that a sum was wrong.
    """
    from psbench.analysis.bench_table import wrong_lines
    from psbench.driver.bench import bench
    from psbench.live.bench.plan import BenchPlan
    from psbench.spec import read_network

    given = {name: value for name, value in options.items() if value is not None}
    plan = BenchPlan(**given)
    known = None if network is None else read_network(network)
    rows: list[BenchRow] = []
    try:
        with stdout_on_stderr():
            for row in bench(plan, known, say):
                rows.append(row)
    finally:  # what was measured before it ended early, too
        _show(rows, as_json)
    if plot is not None:
        from psbench.analysis.bench_plot import save_bench_plot

        save_bench_plot(rows, plot)
    for line in wrong_lines(rows):
        click.secho(line, fg="red", bold=True, err=True)
    if any(row.wrong for row in rows):
        click.get_current_context().exit(WRONG)


def _show(rows: "list[BenchRow]", as_json: bool) -> None:
    if as_json:
        for row in rows:
            click.echo(json.dumps(asdict(row)))
        return
    from rich.console import Console

    from psbench.analysis.bench_table import print_bench

    print_bench(rows, Console(markup=False, highlight=False))
