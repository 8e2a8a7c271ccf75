"""A run goes on with its own spec: another one is refused, by what differs, and nothing written."""

import json

import pytest

from psbench.driver import run
from psbench.driver.labels import cell_labels
from psbench.driver.manifest import describe_cell
from psbench.driver.resume import go_on, resumed_spec
from psbench.errors import ResultsError, SpecError
from psbench.results import RunFolder, build_manifest, environment, read_journal
from psbench.spec import Spec, cell_id


def spec(**changes):
    task = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
    fields = {
        "name": "small",
        "task": task,
        "batch": {"per_worker": 16},
        "steps": 40,
        "workers": 2,
        "repeats": 2,
        "matrix": {"strategy": ["ring", "ps-async"]},
    }
    return Spec(**fields | changes)


@pytest.fixture
def folder(tmp_path):
    """Return a run of `spec()` that was interrupted before its first trial."""
    cells = spec().cells()
    labels = cell_labels(cells)
    with RunFolder.create(tmp_path, "small", tmp_path / "run") as made:
        made.write_manifest(
            build_manifest(
                spec_document=spec().document(),
                axes=["strategy"],
                cells=[describe_cell(cell, labels[cell_id(cell)]) for cell in cells],
                environment=environment(),
            )
        )
        made.finish("interrupted")
    return made.path


def test_the_spec_is_the_one_of_the_manifest_however_it_is_asked_for(folder):
    assert resumed_spec(folder, None) == spec()
    assert resumed_spec(folder, spec()) == spec()
    reordered = spec(matrix={"strategy": ["ps-async", "ring"]})
    assert resumed_spec(folder, reordered).cells() == spec().cells()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "other"}, "name is small there and other here"),
        ({"repeats": 3, "seed": 5}, "repeats is 2 there and 3 here; seed is 0 there and 5 here"),
        ({"steps": 50}, "steps is 40 there and 50 here;"),
        ({"matrix": {"strategy": ["ring"]}}, "only there: ps-async, 2 workers;"),
        (
            {"matrix": {"strategy": ["ring"], "workers": [1, 2, 3, 4, 5, 6]}},
            "only there: ps-async, 2 workers; only here: ring, 1 worker; ring, 3 workers; "
            "ring, 4 workers; and 2 more;",
        ),
    ],
)
def test_another_spec_is_refused_by_what_differs(folder, changes, said):
    before = written(folder)
    with pytest.raises(ResultsError) as refused:
        run(spec(**changes), resume=folder)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert written(folder) == before


def written(folder):
    """When each file of a folder was last written, and its size; reading does not count."""
    status = {path: path.stat() for path in folder.rglob("*")}
    return {path: (one.st_mtime_ns, one.st_size) for path, one in status.items()}


def test_a_manifest_that_this_psbench_cannot_run_is_refused(folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"spec": manifest["spec"] | {"steps": 41}}))
    with pytest.raises(ResultsError, match=r"psbench .* gave its cells other ids"):
        resumed_spec(folder, None)
    path.write_text(json.dumps(manifest | {"spec": manifest["spec"] | {"hologram": 1}}))
    with pytest.raises(ResultsError, match=r"cannot run its spec: .*hologram"):
        resumed_spec(folder, None)


def test_a_folder_without_a_manifest_needs_a_spec(tmp_path):
    with pytest.raises(ResultsError, match="name the SPEC"):
        run(resume=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(SpecError, match="a spec is missing"):
        run()
    with pytest.raises(ResultsError, match="give one of them"):
        run(spec(), out=tmp_path / "a", resume=tmp_path / "b")


def test_the_journal_tells_how_the_run_had_ended_and_what_has_changed(folder):
    where = environment()
    elsewhere = where | {"host": "moon", "versions": where["versions"] | {"torch": "9.9"}}
    with RunFolder.resume(folder) as first:
        assert go_on(first, where) == []
    with RunFolder.resume(folder) as second:
        (warning,) = go_on(second, elsewhere)
        second.finish("failed")
    (folder / "status.json").write_text("{")
    with RunFolder.resume(folder) as third:
        go_on(third, where)
    changes = f"host {where['host']}, now moon; torch {where['versions']['torch']}, now 9.9"
    assert changes in warning
    assert [event.message for event in read_journal(folder).events] == [
        "the run before ended: interrupted",
        f"the run was killed; {changes}",
        "the run before ended: its status.json is damaged",
    ]
