"""`psbench calibrate`: what a message costs here, and what all-reduces take."""

from pathlib import Path

import click

from psbench.cli.bench import list_of, number_of_bytes, number_of_workers
from psbench.cli.streams import say, stdout_on_stderr


@click.command("calibrate")
@click.option(
    "--transport",
    default="gloo",
    show_default=True,
    metavar="T",
    help="gloo, shared_memory or object_store.",
)
@click.option(
    "--workers",
    default="2,4",
    show_default=True,
    metavar="N,M",
    callback=list_of(number_of_workers),
    help="Numbers of ranks with which all-reduces are timed.",
)
@click.option(
    "--sizes",
    metavar="S,T",
    callback=list_of(number_of_bytes),
    help="Vectors that are timed. Default: 1 KiB to 64 MiB, each 4 times the last.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was found to this file (YAML).",
)
def command(
    transport: str, workers: tuple[int, ...], sizes: tuple[int, ...] | None, out: Path | None
) -> None:
    """Measure the network: latency, overhead and bandwidth of messages, and timings of all-reduces.

    \b
    Example:
        psbench calibrate --transport gloo --workers 2,4,8 --out network.yaml

    `psbench schedule auto` and `psbench bench` predict from the file which algorithm is fastest; a
    spec with `strategy: auto` measures by itself. Takes some minutes.
    """
    from rich.console import Console

    from psbench.analysis.network_table import print_link
    from psbench.driver.bench import calibrate
    from psbench.live.auto import network_from
    from psbench.live.bench.plan import check_transports, check_workers
    from psbench.spec import write_network

    check_transports("--transport", (transport,))
    check_workers(workers)
    with stdout_on_stderr():
        file, residuals = calibrate(transport, workers, sizes, say)
    network = network_from(file)
    assert network.uncertainty is not None, "it has just been measured"
    console = Console(markup=False, highlight=False)
    print_link(network.link, network.uncertainty, residuals, console)
    if out is not None:
        write_network(file, out)
        click.echo(out)
