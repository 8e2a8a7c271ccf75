"""The manifest records what was asked and where it ran, without importing what it names."""

import platform
import subprocess

from psbench.results import build_manifest, environment
from psbench.results.environment import git_state


def _git(folder, *arguments):
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


def _checkout(folder):
    _git(folder.parent, "init", "-q", str(folder))
    (folder / "tracked").write_text("one")
    _git(folder, "add", "tracked")
    _git(folder, "commit", "-q", "-m", "first")


def test_a_manifest_holds_spec_cells_and_environment():
    where = environment(threads=2)
    cells = [{"id": "a"}, {"id": "b"}]
    spec = {"name": "quickstart", "seed": 5, "repeats": 3}
    manifest = build_manifest(spec_document=spec, axes=["strategy"], cells=cells, environment=where)
    assert manifest["schema_version"] == 1
    assert (manifest["seed"], manifest["repeats"]) == (5, 3)
    assert manifest["cells"] == cells
    assert manifest["spec"] == spec
    assert manifest["environment"]["threads"] == 2
    assert manifest["created"].endswith("+00:00")
    assert manifest["psbench_version"] == where["versions"]["psbench"]


def test_the_environment_knows_this_machine():
    where = environment()
    assert where["versions"]["python"] == platform.python_version()
    assert 1 <= where["cores"]["available"] <= where["cores"]["count"]
    assert where["memory_bytes"] > 0
    assert where["clock_uncertainty_s"] == 0.0


def test_git_state_is_the_commit_and_whether_tracked_files_differ(tmp_path):
    folder = tmp_path / "checkout"
    _checkout(folder)
    commit = _git(folder, "rev-parse", "HEAD").strip()
    (folder / "untracked").write_text("")
    assert git_state(folder) == {"commit": commit, "dirty": False}
    (folder / "tracked").write_text("two")
    assert git_state(folder) == {"commit": commit, "dirty": True}


def test_git_state_is_none_for_what_git_does_not_track(tmp_path):
    assert git_state(tmp_path) is None
    folder = tmp_path / "checkout"
    _checkout(folder)
    installed = folder / "site-packages"
    installed.mkdir()
    assert git_state(installed) is None
