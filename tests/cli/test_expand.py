"""`psbench expand`, and through it how the command line reports errors and leaves."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from psbench.cli import COMMANDS, invoke
from psbench.spec import Spec, cell_id

QUICKSTART = str(Path(__file__).parents[2] / "experiments" / "quickstart.yaml")
PSBENCH = [sys.executable, "-c", "from psbench.cli import main; main()"]


def test_the_table_shows_every_cell(capsys):
    arguments = ["expand", QUICKSTART, "--set", "matrix.task.optimizer.lr=[0.1, 0.2]"]
    assert invoke(arguments) == 0
    out, err = capsys.readouterr()
    header, *rows, summary = out.splitlines()
    assert err == ""
    assert header.split() == (
        ["cell", "id", "strategy", "workers", "servers", "global", "batch", "task.optimizer.lr"]
    )
    cells = Spec.load(QUICKSTART, [arguments[-1]]).cells()
    assert [row.split()[1] for row in rows] == [cell_id(cell)[:12] for cell in cells]
    assert rows[4].split()[2:] == ["ps-sync", "4", "1", "128", "0.1"]
    assert summary == (
        "12 cells x 3 repeats = 36 trials; 5 logical CPUs needed (workers + servers)"
    )


def test_one_of_each_is_singular(capsys):
    settings = ["matrix.strategy=[ring]", "workers=1", "repeats=1"]
    assert invoke(["expand", QUICKSTART, *(part for s in settings for part in ("--set", s))]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "1 cell x 1 repeat = 1 trial; 1 logical CPU needed (workers + servers)"
    )


@pytest.mark.parametrize(("share", "told"), [("0.25", "1"), ("0.1", "0.4"), ("2", "8")])
def test_gpus_are_counted_where_they_are_asked_for(share, told, capsys):
    assert invoke(["expand", QUICKSTART, "--set", f"cluster={{gpus_per_worker: {share}}}"]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .endswith(f"5 logical CPUs needed (workers + servers), GPUs: {told} (workers)")
    )


def test_virtual_time_needs_no_cpus(tmp_path, capsys):
    base = "name: x\ntask: {payload: 4 MiB}\nsteps: 3\nworkers: 4\nrepeats: 2\nstrategy: ps-sync\n"
    virtual = "{engine: simulated, network: ethernet-10g, workers: 4096}"
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"{base}matrix: {{include: [{virtual}]}}\n")
    assert invoke(["expand", str(spec)]) == 0
    ends = [capsys.readouterr().out.splitlines()[-1]]
    spec.write_text(f"{base}matrix: {{include: [{{engine: live}}, {virtual}]}}\n")
    assert invoke(["expand", str(spec)]) == 0
    ends += [capsys.readouterr().out.splitlines()[-1]]
    assert ends == [
        "1 cell x 2 repeats = 2 trials in virtual time",
        "2 cells x 2 repeats = 4 trials, 2 of them in virtual time;"
        " 5 logical CPUs needed (workers + servers)",
    ]


def test_json_is_one_object_a_cell_and_nothing_else(capsys):
    assert invoke(["expand", QUICKSTART, "--json"]) == 0
    out, err = capsys.readouterr()
    records = [json.loads(line) for line in out.splitlines()]
    cells = Spec.load(QUICKSTART).cells()
    assert err == ""
    assert [record["id"] for record in records] == [cell_id(cell) for cell in cells]
    assert [record["label"] for record in records] == [cell.label for cell in cells]
    assert records[0]["cell"]["strategy"]["algorithm"] == "ring"


def _in_terminal(arguments: list[str], columns: int) -> str:
    """Return what the command prints on a terminal of that width."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen([*PSBENCH, *arguments], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # Linux's way of saying that the other side has closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())


def test_nothing_is_cut_in_a_narrow_terminal():
    settings = ["matrix.task.optimizer.momentum=[0.123456789]", "matrix.steps=[1234567, 1234568]"]
    settings += ["matrix.eval_every=[123456, 123457]", "matrix.warmup=[123456, 654321]"]
    arguments = ["expand", QUICKSTART, *(part for s in settings for part in ("--set", s))]
    shown = _in_terminal(arguments, columns=80)
    for cell in Spec.load(QUICKSTART, settings).cells():
        assert cell_id(cell)[:12] in shown
    for text in ("global", "batch", "1234567", "123457", "654321", "ps-async", "48 cells"):
        assert text in shown
    assert "…" not in shown


def test_a_missing_file(capsys):
    assert invoke(["expand", "nope.yaml"]) == 2
    assert capsys.readouterr().err == "psbench: error: nope.yaml: no such file\n"


def test_debug_shows_the_traceback(capsys):
    assert invoke(["--debug", "expand", "nope.yaml"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.endswith("psbench: error: nope.yaml: no such file\n")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(capsys, arguments):
    assert invoke(arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: psbench")
    for name in COMMANDS:
        assert f"  {name} " in out


def test_help_of_the_command_has_an_example(capsys):
    assert invoke(["expand", "--help"]) == 0
    assert "Example: psbench expand" in capsys.readouterr().out


def test_version(capsys):
    assert invoke(["--version"]) == 0
    assert re.fullmatch(r"psbench, version [0-9.]+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "psbench: interrupted\n"),
        (
            ZeroDivisionError("two\nlines"),
            70,
            "psbench: internal error: ZeroDivisionError: two lines;"
            " see it whole with `psbench --debug ...`, and report it\n",
        ),
    ],
)
def test_what_is_not_the_users_error(monkeypatch, capsys, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr(Spec, "load", fail)
    assert invoke(["expand", QUICKSTART]) == code
    assert capsys.readouterr().err == message


def test_a_reader_that_leaves_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PSBENCH, "expand", QUICKSTART, "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from psbench.cli import invoke; invoke(['--help']);"
        "print({'ray', 'torch', 'pandas', 'numpy', 'pydantic', 'rich'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
