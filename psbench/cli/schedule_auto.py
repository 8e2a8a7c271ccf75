"""`psbench schedule auto`: which algorithm is predicted to be fastest, and by how much."""

import json

import click

from psbench.cli.bench import number_of_bytes
from psbench.errors import SpecError


def show_auto(workers: int, size: str | None, path: str | None, as_json: bool) -> None:
    """Print what each algorithm is predicted to take; raises SpecError for what is missing."""
    from rich.console import Console

    from psbench.analysis.network_table import print_predictions
    from psbench.live.auto import ASSUMED, ON_ONE_HOST, network_from
    from psbench.spec import read_network

    if workers < 1:
        raise SpecError(f"--workers {workers}: at least 1 worker is needed")
    if size is None:
        raise SpecError("auto depends on how long the vector is: write --size, such as 4MiB")
    try:
        nbytes = number_of_bytes(size)
    except ValueError as error:
        raise SpecError(f"--size: {error}") from None
    network = ASSUMED if path is None else network_from(read_network(path))
    seconds = network.predict(ON_ONE_HOST, workers=workers, nbytes=nbytes)
    if as_json:
        for name, value in seconds.items():
            click.echo(json.dumps({"kind": "prediction", "algorithm": name, "seconds": value}))
        return
    print_predictions(seconds, workers, nbytes, Console(markup=False, highlight=False))
    click.echo()
    click.echo(f"auto is {next(iter(seconds))}")
    timed = any(timing.workers == workers for timing in network.timings)
    link = "of the network file" if path else "assumed: 20 us, 10 Gbit/s (give --network FILE)"
    click.echo(f"* by the cost formulas, on the link {link}")
    if timed:
        click.echo("* each put right by how far it was off where it was timed")
    elif path:
        click.echo(
            f"* nothing was timed with {workers} workers: where cores are shared, that misleads"
        )
