"""Options that several commands take."""

import click

overrides_option = click.option(
    "overrides", "--set", multiple=True, metavar="a.b=v", help="Set a field; may be repeated."
)

# of type Path, for shells to complete files
spec_argument = click.argument("path", metavar="SPEC", type=click.Path())
optional_spec_argument = click.argument("path", metavar="SPEC", type=click.Path(), required=False)
