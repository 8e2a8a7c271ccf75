"""The command line: which commands there are, and how errors leave the process.

Commands are imported when they are called, so that `psbench --help` is quick and needs neither ray
nor torch.
"""

import difflib
import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

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
    "bench": ("psbench.cli.bench:command", "Time all-reduces and rounds through a server."),
    "calibrate": ("psbench.cli.calibrate:command", "Measure a link, and time all-reduces on it."),
    "completion": ("psbench.cli.completion:command", "Print the completion script of a shell."),
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"no such command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=help_line)
            for name, (_, help_line) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        # past the group's own, which would import every command
        return commands + click.Command.shell_complete(self, ctx, incomplete)


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
    if "_PSBENCH_COMPLETE" in os.environ:  # a shell asks, in the midst of a line
        from psbench.cli.completion import VARIABLE, complete

        sys.exit(complete(group, os.environ[VARIABLE]))
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
        _report(f"error: {_usage(error, arguments)}", debug)
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


def _usage(error: click.ClickException, arguments: Sequence[str]) -> str:
    """Return what click says of a wrong command line in one line, with where to look."""
    near = getattr(error, "possibilities", None)
    text = (error.message if near else error.format_message()).rstrip(".")
    text = text[:1].lower() + text[1:]
    if near:
        text += f"; did you mean {near[0]!r}?"
    command = next((word for word in arguments if word in COMMANDS), None)
    where = f"psbench {command} --help" if command else "psbench --help"
    return f"{text} see {where}" if text.endswith("?") else f"{text}; see {where}"


def _report(text: str, debug: bool) -> None:
    """Write one line to stderr, red where it is a terminal.

    By rich, as all that has colours: NO_COLOR, FORCE_COLOR and TERM mean the same everywhere.
    """
    from rich.console import Console
    from rich.text import Text

    if debug:
        traceback.print_exc()
    line = Text(f"psbench: {' '.join(text.split())}", style="red")
    Console(stderr=True).print(line, soft_wrap=True)
