"""Specs from files and overrides: every error says where the value was written."""

import pytest
import yaml

from psbench.errors import SpecError
from psbench.spec import Spec

TEXT = """\
name: x
task:
  model: digits_mlp
  optimizer: {kind: sgd, lr: 0.1}
batch: {per_worker: 4}
steps: 10
strategy: ring
matrix:
  workers:
    - 1
    - 2
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a spec file into the current folder and return its relative name."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes) -> str:
        (tmp_path / "x.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return "x.yaml"

    return write


def message(path, overrides=()) -> str:
    with pytest.raises(SpecError) as error:
        Spec.load(path, overrides)
    return str(error.value)


def test_a_file_is_what_python_writes(write):
    assert Spec.load(write(TEXT)) == Spec(**yaml.safe_load(TEXT))


def test_round_trip_through_a_file(write):
    spec = Spec.load(write(TEXT))
    assert Spec.load(write(yaml.safe_dump(spec.document(), sort_keys=False))) == spec


def test_line_ends_and_a_byte_order_mark_do_not_matter(write):
    assert Spec.load(write(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())).name == "x"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("- 2", "- two", "x.yaml:11: matrix.workers[1]: expected a whole number, got 'two'"),
        ("steps: 10", "steps: 0", "x.yaml:6: steps: must be at least 1, got 0"),
        ("lr: 0.1", "lr: yes", "x.yaml:4: task.optimizer.lr: expected a number, got 'yes'"),
        (
            "  workers:",
            "  wokers:",
            "x.yaml:9: matrix: unknown axis 'wokers'; did you mean 'workers'?",
        ),
        ("batch:", "bach:", "x.yaml:5: unknown field 'bach'; did you mean 'batch'?"),
        ("steps: 10\n", "", "x.yaml:1: steps: missing; set it in the spec or as an axis"),
        (", lr: 0.1", "", "x.yaml:4: task.optimizer.lr: missing; set it"),
        ("name: x\n", "", "x.yaml:1: name: missing; every spec has one"),
        ("per_worker: 4", "global: 1", "x.yaml:5: batch: a global batch of 1 is less than 2"),
        ("- 2", "- 1", "x.yaml:8: matrix: cells 1 and 2 are the same (ring, 1 worker)"),
        ("steps: 10", "steps: 10\nsteps: 20", "x.yaml:7: duplicate key 'steps' (first on line 6)"),
    ],
)
def test_mistakes_name_file_and_line(write, old, new, expected):
    assert old in TEXT
    assert message(write(TEXT.replace(old, new))).startswith(expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "x.yaml:1: empty; a spec is a map of fields, such as `name: quickstart`"),
        ("- a\n", "x.yaml:1: expected a map of fields, got a list of 1"),
        ("ring\n", "x.yaml:1: expected a map of fields, got 'ring'"),
        (b"name: x\nb: \xff\n", "x.yaml:2: not UTF-8 text; save the file as UTF-8"),
        (b"#" * 2**20 + b"\n", "x.yaml: more than 1048576 bytes; not a file of ours"),
    ],
)
def test_files_that_are_no_spec(write, content, expected):
    assert message(write(content)) == expected


def test_files_that_cannot_be_read(tmp_path):
    missing = tmp_path / "nope.yaml"
    assert message(missing) == f"{missing}: no such file"
    assert message(tmp_path) == f"{tmp_path}: is a folder; name a spec file in it"
    assert message("a\0b").startswith("a\0b: cannot be read (")


def test_overrides_are_put_over_the_file(write):
    path = write(TEXT)
    overrides = ["steps=20", "task.optimizer.momentum=0.5", "matrix.workers=[3]", "target.loss=1"]
    (cell,) = Spec.load(path, overrides).cells()
    assert (cell.steps, cell.workers, cell.target.loss) == (20, 3, 1.0)
    assert cell.task.optimizer.momentum == 0.5
    assert cell.task.optimizer.lr == 0.1


def test_overrides_reach_axes_with_dots_and_named_strategies(write):
    path = write(TEXT)
    cells = Spec.load(path, ["matrix.task.optimizer.lr=[1.0, 2.0]"]).cells()
    assert [cell.task.optimizer.lr for cell in cells] == [1.0, 2.0, 1.0, 2.0]
    cells = Spec.load(path, ["strategy=tree", "strategy.chunks=4"]).cells()
    assert cells[0].label == "tree(chunks=4), 1 worker"


def test_the_last_override_of_a_field_wins(write):
    assert Spec.load(write(TEXT), ["steps=2", "steps=3"]).cells()[0].steps == 3


def test_an_axis_may_be_dropped_for_a_base_field(write):
    (cell,) = Spec.load(write(TEXT), ["matrix=", "workers=7"]).cells()
    assert cell.workers == 7


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("steps=two", "--set steps=two: steps: expected a whole number, got 'two'"),
        ("steps=010", "--set steps=010: 010 has a leading zero; write 10, or quote it"),
        ("steps=[", "--set steps=[: expected the node content"),
        ("steps", "--set steps: write it as field=value, such as workers=2"),
        ("=2", "--set =2: write it as field=value, such as workers=2"),
        ("a..b=2", "--set a..b=2: write it as field=value, such as workers=2"),
        ("steps.x=2", "--set steps.x=2: steps: expected a map, got 10"),
        ("stps=2", "--set stps=2: unknown field 'stps'; did you mean 'steps'?"),
        (
            "task.optimiser.lr=1",
            "--set task.optimiser.lr=1: task: unknown field 'optimiser'; did you mean 'optimizer'?",
        ),
        (
            "matrix.workers=[1, x]",
            "--set matrix.workers=[1, x]: matrix.workers[1]: expected a whole number, got 'x'",
        ),
        (
            "workers=2",
            "--set workers=2: no effect, workers is an axis of the matrix;"
            " use --set 'matrix.workers=[2]'",
        ),
    ],
)
def test_mistakes_in_overrides_name_the_override(write, override, expected):
    assert message(write(TEXT), [override]).startswith(expected)


def test_a_field_inside_of_an_axis_has_no_effect_either(write):
    overrides = ["matrix.strategy=[ring, tree]", "strategy.chunks=2"]
    assert message(write(TEXT), overrides) == (
        "--set strategy.chunks=2: no effect, strategy is an axis of the matrix;"
        " use --set 'matrix.strategy=[...]'"
    )


def test_a_line_the_override_replaced_is_not_blamed(write):
    assert message(write(TEXT), ["task={model: digits_mlp}"]).startswith(
        "--set task={model: digits_mlp}: task.optimizer: missing"
    )
