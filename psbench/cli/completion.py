"""`psbench completion`: what a shell needs to complete commands, options and files."""

import click
from click.shell_completion import get_completion_class, shell_complete

VARIABLE = "_PSBENCH_COMPLETE"
"""Set by the script for each completion: what is wanted, as click has it ("bash_complete")."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    Example, for ~/.bashrc (and alike for ~/.zshrc):
        eval "$(psbench completion bash)"
    For ~/.config/fish/config.fish:
        psbench completion fish | source
    """
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(context.find_root().command, {}, "psbench", VARIABLE).source(), nl=False)


def complete(group: click.Group, instruction: str) -> int:
    """Answer the script: print what fits the words in the environment; return the exit code."""
    return shell_complete(group, {}, "psbench", VARIABLE, instruction)
