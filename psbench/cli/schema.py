"""`psbench schema`: the JSON Schema of a spec, for editors."""

import json

import click

from psbench.spec import spec_schema


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of a spec.

    An editor with yaml-language-server completes and checks a spec that starts with the line
    "# yaml-language-server: $schema=PATH", PATH naming the file written here:

    Example: psbench schema > psbench.schema.json
    """
    click.echo(json.dumps(spec_schema(), indent=2))
