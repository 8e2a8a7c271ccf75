"""Which psbench a process runs, and the refusal to mix two of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from psbench.errors import PlacementError
from psbench.live.code import Code, this_code
from psbench.live.host import this_host
from psbench.live.placement import _check_code


@pytest.fixture
def copied(tmp_path):
    """`copied(change)` -> the digest that a process sees of a copy of psbench after `change`."""

    def digest(change):
        folder = tmp_path / "psbench"
        shutil.copytree(Path(this_code().folder), folder)
        change(folder)
        code = "from psbench.live.code import this_code; print(this_code().digest)"
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    return digest


def test_the_same_source_elsewhere_is_the_same(copied):
    assert copied(lambda folder: (folder / "notes.txt").write_text("no source")) == (
        this_code().digest
    )


@pytest.mark.parametrize("change", ["edit", "add", "remove"])
def test_any_other_source_is_another(copied, change):
    def do(folder):
        if change == "edit":
            (folder / "units.py").write_text((folder / "units.py").read_text() + "\n")
        elif change == "add":
            (folder / "more.py").touch()
        else:
            (folder / "cli" / "schema.py").unlink()

    assert copied(do) != this_code().digest


def test_an_actor_of_another_psbench_is_refused_naming_both():
    _check_code(this_host(), this_code())
    other = Code(version="0.0.9", folder="/elsewhere/psbench", digest="f" * 64)
    with pytest.raises(PlacementError) as error:
        _check_code(this_host(), other)
    assert "runs psbench 0.0.9 (ffffffff) in /elsewhere/psbench, and this process" in (
        str(error.value)
    )
    assert str(this_code()) in str(error.value)
