"""`psbench completion`: a shell that has read the script completes what is typed."""

import os
import subprocess
import sys

import pytest

from psbench.cli import COMMANDS, invoke
from psbench.schedules import ALGORITHMS


@pytest.fixture
def complete(tmp_path, capsys):
    """`complete("psbench ru")` -> what bash offers for the last word."""
    assert invoke(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    program = tmp_path / "psbench"
    main = "from psbench.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{main}" "$@"\n')
    program.chmod(0o755)

    def run(line):
        words = line.split(" ")
        text = f"""
            source {tmp_path}/script
            COMP_WORDS=({" ".join(word or "''" for word in words)})
            COMP_CWORD={len(words) - 1}
            compopt() {{ COMPREPLY+=("$@"); }}  # files are left to bash, asked for in this way
            _psbench_completion psbench
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        path = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--norc", "-c", text],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return run


def test_bash_completes_commands_options_names_and_files(complete):
    assert complete("psbench ") == list(COMMANDS)
    assert complete("psbench s") == ["schema", "schedule"]
    assert complete("psbench --v") == ["--version"]
    assert {"--set", "--out", "--json"} <= set(complete("psbench run --"))
    assert complete("psbench schedule ") == [*ALGORITHMS, "auto"]
    assert complete("psbench schedule t") == ["tree"]
    assert complete("psbench run ") == ["-o", "default"]
    assert complete("psbench run x.yaml --out ") == ["-o", "dirnames"]
    assert complete("psbench completion ") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize(("shell", "hook"), [("zsh", "compdef"), ("fish", "complete --no-files")])
def test_other_shells_get_a_script_of_theirs(capsys, shell, hook):
    assert invoke(["completion", shell]) == 0
    assert hook in capsys.readouterr().out
    env = {
        **os.environ,
        "_PSBENCH_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "psbench sch",
        "COMP_CWORD": "1" if shell == "zsh" else "sch",
    }
    main = "from psbench.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", main], env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert "schema" in done.stdout
    assert "schedule" in done.stdout
    assert "run" not in done.stdout.split()


@pytest.mark.parametrize(
    "words", ["psbench ", "psbench run --", "psbench run ", "psbench expand -"]
)
def test_completing_imports_nothing_heavy(words):
    env = {
        **os.environ,
        "_PSBENCH_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    code = (
        "import atexit, sys; from psbench.cli import main;"
        "heavy = {'ray', 'torch', 'pandas', 'matplotlib', 'pyarrow', 'psbench.driver'};"
        "atexit.register(lambda: print(heavy & sys.modules.keys(), file=sys.stderr)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "set()\n")
