"""`psbench expand`: what a spec would run."""

import json

import click
from rich.console import Console
from rich.table import Table

from psbench.cli.options import overrides_option, spec_argument
from psbench.spec import Cell, Spec, cell_fields, cell_id, strategy_label, varying_fields
from psbench.units import count, show_value

_UNCUT = 10_000  # columns: a narrow terminal wraps a line itself, where rich would cut ids apart


@click.command("expand")
@spec_argument
@overrides_option
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object a cell.")
def command(path: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Show the cells of SPEC, running nothing.

    Example: psbench expand experiments/quickstart.yaml --set workers=2
    """
    spec = Spec.load(path, overrides)
    if as_json:
        for cell in spec.cells():
            click.echo(json.dumps(_record(cell)))
        return
    console = Console(width=_UNCUT, markup=False, highlight=False, emoji=False)
    console.print(_table(spec.cells()))
    click.echo(_summary(spec))


def _record(cell: Cell) -> dict[str, object]:
    return {
        "id": cell_id(cell),
        "label": cell.label,
        "cell": cell.model_dump(mode="json", by_alias=True),
    }


def _table(cells: tuple[Cell, ...]) -> Table:
    shown = ("strategy", "workers")  # they have columns of their own
    varying = [path for path in varying_fields(cells) if path.split(".")[0] not in shown]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("cell", "id", "strategy", "workers", "servers", "global batch", *varying):
        table.add_column(name, no_wrap=True)
    for number, cell in enumerate(cells, start=1):
        fields = cell_fields(cell)
        values = (
            number,
            cell_id(cell)[:12],
            strategy_label(cell.strategy),
            cell.workers,
            cell.servers,
            cell.global_batch,
            *(_text(fields.get(path)) for path in varying),
        )
        table.add_row(*map(str, values))
    return table


def _text(value: object) -> str:
    if value is None:
        return "-"
    return show_value(value) if isinstance(value, str) else json.dumps(value)


def _summary(spec: Spec) -> str:
    cells = spec.cells()
    live = [cell for cell in cells if cell.engine == "live"]
    num_virtual = (len(cells) - len(live)) * spec.repeats
    trials = len(cells) * spec.repeats
    text = (
        f"{count(len(cells), 'cell')} x {count(spec.repeats, 'repeat')} = {count(trials, 'trial')}"
    )
    if not live:
        return f"{text} in virtual time"
    cpus, gpus = max(cell.cpus for cell in live), max(cell.gpus for cell in live)
    return (
        f"{text}{f', {num_virtual} of them in virtual time' if num_virtual else ''}"
        f"; {count(cpus, 'logical CPU')} needed (workers + servers)"
        f"{f', GPUs: {gpus:g} (workers)' if gpus else ''}"
    )
