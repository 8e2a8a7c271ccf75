"""`psbench schema`: the JSON Schema on stdout, and nothing else."""

import json

from psbench.cli import invoke
from psbench.spec import spec_schema


def test_it_prints_the_schema(capsys):
    assert invoke(["schema"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == spec_schema()
    assert err == ""


def test_help_has_an_example(capsys):
    assert invoke(["schema", "--help"]) == 0
    assert "Example: psbench schema" in capsys.readouterr().out
