"""`psbench run`: run a spec, then show what came of it."""

import json
from pathlib import Path

import click

from psbench.cli.options import optional_spec_argument, overrides_option
from psbench.cli.streams import stdout_on_stderr

TRIAL_FAILED = 4


@click.command("run")
@optional_spec_argument
@overrides_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The run's folder itself, new or empty. Default: results/NAME/TIME-ID.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False),
    help="Go on with the run in this folder; SPEC may be left out. A new one: start there.",
)
@click.option("as_json", "--json", is_flag=True, help="Print one JSON object a cell on stdout.")
def command(
    path: str | None,
    overrides: tuple[str, ...],
    out: Path | None,
    resume: Path | None,
    as_json: bool,
) -> None:
    """Run the trials of SPEC, then print one table and save it with its pictures.

    For live trials Ray runs embedded in this process, unless RAY_ADDRESS names a cluster to join.
    Exit code 4 says that a trial failed.

    Example: psbench run experiments/quickstart.yaml --set repeats=1
    """
    from rich.console import Console

    from psbench.analysis import load, print_summary, summary_records
    from psbench.driver import run
    from psbench.live.submission import relative_out_warning
    from psbench.spec import Spec

    if out is not None and resume is not None:
        raise click.UsageError("--out and --resume both name the run's folder; give one of them.")
    if path is None and (resume is None or overrides):
        raise click.UsageError("Missing argument 'SPEC'; only --resume does without, and no --set.")
    spec = None if path is None else Spec.load(path, overrides)
    warning = relative_out_warning(out or resume)
    if warning:
        click.echo(f"psbench: warning: {warning}", err=True)
    with stdout_on_stderr():
        folder = run(spec, out=out, resume=resume)
    results = load(folder)
    if as_json:
        for record in summary_records(results):
            click.echo(json.dumps(record))
    else:
        print_summary(results, Console(markup=False, highlight=False))
        click.echo()
    pictures = results.save_plots(folder)
    if not as_json:
        for file in (*pictures, folder):
            click.echo(file)
    if (results.trials["status"].isin(["failed", "timed_out"])).any():
        click.get_current_context().exit(TRIAL_FAILED)
