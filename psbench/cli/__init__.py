"""The command line: which commands there are, and how errors leave the process.

Commands are imported when they are called, so that `psbench --help` is quick and needs neither ray
nor torch.
"""

import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from psbench.errors import PsbenchError

INTERNAL_ERROR = 70
INTERRUPTED = 130
BROKEN_PIPE = 141  # as of a process ended by SIGPIPE
BAD_USAGE = 2

COMMANDS = {
    "run": ("psbench.cli.run:command", "Run the trials of a spec."),
    "expand": ("psbench.cli.expand:command", "Show the cells of a spec, running nothing."),
    "schema": ("psbench.cli.schema:command", "Print the JSON Schema of a spec."),
    "schedule": ("psbench.cli.schedule:command", "Show what an all-reduce algorithm sends."),
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and none for its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])


@click.group("psbench", cls=LazyGroup, invoke_without_command=True)
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
@click.version_option(package_name="psbench")
@click.pass_context
def group(context: click.Context, debug: bool) -> None:
    """Parameter server or all-reduce? Measure both on the same model, data and transport.

    Example: psbench run experiments/quickstart.yaml
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    _prepare_streams()
    sys.exit(invoke(sys.argv[1:]))


def _prepare_streams() -> None:
    """Have both streams there, and able to write any text: as `?` if need be."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def invoke(arguments: Sequence[str]) -> int:
    """Carry out `arguments` and return the exit code; errors become one line on stderr."""
    debug = False
    try:
        with group.make_context("psbench", list(arguments)) as context:
            debug = context.params["debug"]
            group.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return BAD_USAGE
    except PsbenchError as error:
        _report(f"error: {error}", debug)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _report("interrupted", debug)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has left. Python flushes stdout once more on its way out; let that succeed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is not None or debug:
            _report(f"error: {error}", debug)
        else:
            _report(f"error: cannot write the output: {error.strerror}", debug)
        return BAD_USAGE
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        _report(
            f"internal error: {problem}; see it whole with `psbench --debug ...`, and report it",
            debug,
        )
        return INTERNAL_ERROR
    return 0


def _report(text: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    line = " ".join(text.split())
    click.secho(f"psbench: {line}", fg="red", err=True)
