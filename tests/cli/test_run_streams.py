"""stdout of `psbench run` is for its results alone, whoever else writes there."""

import subprocess
import sys

CODE = """
import os, psbench.cli
psbench.cli._prepare_streams()
from psbench.cli.streams import stdout_on_stderr
print("before")
with stdout_on_stderr():
    os.write(1, b"by a library in C\\n")
    print("by a model in Python")
print("after")
"""


def test_what_others_write_meanwhile_goes_to_stderr():
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "before\nafter\n"
    assert done.stderr == "by a library in C\nby a model in Python\n"


def test_streams_that_are_closed_do_no_harm():
    script = 'exec "$0" -c "$1" >&- 2>&-'
    command = ["sh", "-c", script, sys.executable, CODE]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0
