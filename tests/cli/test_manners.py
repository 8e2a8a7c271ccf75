"""How the command line reports a wrong command line, and when it writes in colour."""

import os
import pty
import re
import subprocess
import sys

import pytest

from psbench.cli import invoke

PSBENCH = [sys.executable, "-c", "from psbench.cli import main; main()"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--bogus", "no such option '--bogus'; see psbench --help"),
        ("expnd", "no such command 'expnd'; did you mean 'expand'? see psbench --help"),
        ("quit", "no such command 'quit'; see psbench --help"),
        (
            "run",
            "missing argument 'SPEC'; only --resume does without, and no --set;"
            " see psbench run --help",
        ),
        (
            "run x --jso",
            "no such option '--jso'; did you mean '--json'? see psbench run --help",
        ),
        ("run x y", "got unexpected extra argument (y); see psbench run --help"),
        ("run x --out", "option '--out' requires an argument; see psbench run --help"),
        ("run x --json=1", "option '--json' does not take a value; see psbench run --help"),
        ("expand", "missing argument 'SPEC'; see psbench expand --help"),
        ("schedule ring", "missing option '--workers'; see psbench schedule --help"),
        (
            "schedule ring --workers x",
            "invalid value for '--workers': 'x' is not a valid integer;"
            " see psbench schedule --help",
        ),
    ],
)
def test_wrong_usage_is_one_line_that_says_where_to_look(capsys, arguments, said):
    assert invoke(arguments.split()) == 2
    assert capsys.readouterr() == ("", f"psbench: error: {said}\n")


def shown(*, on_terminal, **environment):
    """Return what a wrong command writes to stderr, on a terminal or into a pipe."""
    env = {name: value for name, value in os.environ.items() if not name.endswith("_COLOR")}
    env |= {"TERM": "xterm", "COLUMNS": "40"} | environment
    command = [*PSBENCH, "expand", "there/is/no/such/spec/to/be/found/anywhere.yaml"]
    if not on_terminal:
        return subprocess.run(command, env=env, capture_output=True, check=False).stderr.decode()
    ours, theirs = pty.openpty()
    done = subprocess.run(command, env=env, stderr=theirs, check=False)
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 2
    return text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("on_terminal", "environment", "is_red"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_an_error_is_red_where_colours_are_wanted_and_one_line_always(
    on_terminal, environment, is_red
):
    text = shown(on_terminal=on_terminal, **environment)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert plain == (
        "psbench: error: there/is/no/such/spec/to/be/found/anywhere.yaml: no such file\n"
    )
    assert text == (f"\x1b[31m{plain[:-1]}\x1b[0m\n" if is_red else plain)
