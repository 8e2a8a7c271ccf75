"""Bad specs at the command: exit code 2, one line that names file, field and fix, nothing begun.

What each mistake earns is tested in tests/spec; here is that it reaches the user so.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import ray

from psbench.cli import invoke
from psbench.spec import Cell, Spec
from psbench.spec.structure import field_paths

GOOD = """\
name: good
task: {model: digits_mlp, dtype: float32, optimizer: {kind: sgd, lr: 0.1}}
batch: {per_worker: 8}
target: {accuracy: 0.9}
steps: 10
workers: 2
strategy: {kind: all_reduce, algorithm: ring}
engine: live
transport: gloo
"""
SERVER = "{kind: parameter_server, consistency: synchronous}"
PAYLOAD = """\
name: good
task: {payload: 4 MiB}
steps: 10
workers: 2
strategy: ring
"""


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """`refused(spec, *arguments)` -> the one line, without its beginning; checks all the rest."""
    monkeypatch.chdir(tmp_path)

    def refused(spec, *arguments):
        path = Path("bad.yaml")
        path.write_bytes(spec if isinstance(spec, bytes) else spec.encode())
        assert invoke(["run", "bad.yaml", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.endswith("\n")
        line = err[:-1]
        assert line.isprintable(), "one line"
        assert len(line) < 500
        assert line.startswith("psbench: error: ")
        assert list(tmp_path.iterdir()) == [tmp_path / "bad.yaml"]
        assert not ray.is_initialized()
        return line.removeprefix("psbench: error: ")

    return refused


@pytest.mark.parametrize("text", [GOOD, PAYLOAD])
def test_what_is_varied_here_is_good(tmp_path, text):
    (tmp_path / "good.yaml").write_text(text)
    assert len(Spec.load(tmp_path / "good.yaml").cells()) == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "bad.yaml:1: empty; a spec is a map of fields, such as `name: quickstart`"),
        ("# nothing\n", "bad.yaml:1: empty; a spec is"),
        ("name: [\n", "bad.yaml:2: expected the node content"),
        ("name: good: bad", "bad.yaml:1: mapping values are not allowed here"),
        ("}{", "bad.yaml:1: expected the node content"),
        ("- good\n", "bad.yaml:1: expected a map of fields, got a list of 1"),
        ("good", "bad.yaml:1: expected a map of fields, got 'good'"),
        (b"\x89PNG\r\n\x1a\n", "bad.yaml:1: not UTF-8 text; save the file as UTF-8"),
        (b"name: good\nsteps: \x00", "bad.yaml:2: a character that YAML does not allow"),
        (GOOD + "steps: 11\n", "bad.yaml:10: duplicate key 'steps' (first on line 5)"),
        (GOOD + '"a\\e[31mb": 1\n', r"bad.yaml:10: unknown field 'a\x1b[31mb' (known: name, "),
    ],
)
def test_files_that_are_no_spec(refused, spec, said):
    assert refused(spec).startswith(said)


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['echo done > harm']",
        "!!python/object/new:os.system ['echo done > harm']",
        "!!python/object/apply:subprocess.check_output [[touch, harm]]",
        "!!python/object/apply:eval [\"open('harm', 'w')\"]",
        "!!python/name:os.system",
        "!!python/module:os",
        "!!python/tuple [1, 2]",
        "!<tag:yaml.org,2002:python/object/apply:os.system> ['echo done > harm']",
        "!!binary aGFybQ==",
        "!own {harm: 1}",
    ],
)
def test_a_tag_builds_and_runs_nothing(refused, tag):
    for spec, line in ((f"{GOOD}seed: {tag}\n", 10), (f"{tag}\n", 1)):
        said = refused(spec)  # which also finds no file made
        assert said.startswith(f"bad.yaml:{line}: tags are not supported: ")
        assert said.endswith("; remove it")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("workers: 2", "wrokers: 2", "6: unknown field 'wrokers'; did you mean 'workers'? "),
        ("digits_mlp", "digits_mpl", "2: task.model: unknown model 'digits_mpl'; did you mean "),
        ("float32", "float23", "2: task.dtype: unknown dtype 'float23'; did you mean 'float32'?"),
        ("sgd", "sdg", "2: task.optimizer.kind: unknown optimizer kind 'sdg'; did you mean 'sgd'?"),
        ("{kind: all_reduce, algorithm: ring}", "rign", "7: strategy: unknown strategy 'rign'; "),
        ("all_reduce", "allreduce", "7: strategy.kind: unknown strategy kind 'allreduce'; did "),
        ("ring", "rnig", "7: strategy.algorithm: unknown algorithm 'rnig'; did you mean 'ring'?"),
        (
            "{kind: all_reduce, algorithm: ring}",
            SERVER.replace("synchronous", "synchronus"),
            "7: strategy.consistency: unknown consistency 'synchronus'; did you mean ",
        ),
        ("live", "life", "8: engine: unknown engine 'life'; did you mean 'live'?"),
        ("gloo", "glow", "9: transport: unknown transport 'glow'; did you mean 'gloo'?"),
        ("per_worker", "per_work", "3: batch: unknown field 'per_work'; did you mean "),
        ("accuracy", "acuracy", "4: target: unknown field 'acuracy'; did you mean 'accuracy'?"),
        ("lr:", "learning_rate:", "2: task.optimizer: unknown field 'learning_rate' (known: kind"),
        ("workers", "lr", "6: unknown field 'lr'; did you mean 'task.optimizer.lr'"),
        ("steps", "bucket", "5: unknown field 'bucket'; did you mean 'strategy.bucket'"),
        ("engine", "kind", "8: unknown field 'kind'; did you mean 'task.optimizer.kind' or "),
        (
            "{kind: all_reduce, algorithm: ring}",
            SERVER.replace("}", ", wire_dtype: bf16}"),
            "7: strategy: unknown field 'wire_dtype'; all_reduce has it (known: kind, ",
        ),
        (
            "{kind: all_reduce, algorithm: ring}",
            "{kind: ddp, overlap: true}",
            "7: strategy: unknown field 'overlap'; all_reduce, parameter_server, native have it",
        ),
    ],
)  # fmt: skip
def test_a_name_that_is_not_known_is_told_the_closest(refused, old, new, said):
    assert old in GOOD
    assert refused(GOOD.replace(old, new)).startswith(f"bad.yaml:{said}")


TOP = ["name", "repeats", "seed", *Cell.model_fields]


@pytest.mark.parametrize("field", TOP)
@pytest.mark.parametrize("value", ["[[1]]", "{surely: {not: this}}", ".nan", "-.inf", "-3", "''"])
def test_a_value_of_a_wrong_kind_is_named_by_its_line_and_field(refused, field, value):
    kept = [line for line in GOOD.splitlines() if not line.startswith(f"{field}:")]
    line = len(kept) + 1
    said = refused("\n".join([*kept, f"{field}: {value}", ""]))
    assert said.startswith(f"bad.yaml:{line}: {field}")


@pytest.mark.parametrize("path", field_paths(Cell))
def test_a_value_of_a_wrong_kind_is_named_by_its_axis(refused, path):
    spec = GOOD + f"matrix:\n  {path}:\n    - [[1]]\n"
    if path in ("task.payload", "task.profile"):
        task = f"{{{path.partition('.')[2]}: none}}"
        spec = PAYLOAD.replace("{payload: 4 MiB}", task) + f"matrix:\n  {path}:\n    - [[1]]\n"
    said = refused(spec)
    assert said.startswith(f"bad.yaml:{spec.count(chr(10))}: matrix.{path}"), said


@pytest.mark.parametrize(
    ("field", "old", "new", "said"),
    [
        ("task", "0.1", ".nan", "2: task.optimizer.lr: must be finite, got nan"),
        ("task", "0.1", ".inf", "2: task.optimizer.lr: must be finite, got inf"),
        ("task", "0.1", "-0.1", "2: task.optimizer.lr: must be greater than 0, got -0.1"),
        ("task", "0.1", "1e400", "2: task.optimizer.lr: must be finite, got inf"),
        ("batch", "8", "0", "3: batch.per_worker: must be at least 1, got 0"),
        ("batch", "8", "8.0", "3: batch.per_worker: expected a whole number, got 8.0"),
        ("batch", "8", "010", "3: 010 has a leading zero; write 10, or quote it if it is text"),
        ("target", "0.9", "1.1", "4: target.accuracy: must be at most 1, got 1.1"),
        ("target", "0.9", "90 %", "4: target.accuracy: expected a number, got '90 %'"),
        ("steps", "10", "9223372036854775808", "5: steps: does not fit into 64 bits"),
        ("steps", "10", "1e3", "5: steps: expected a whole number, got 1000.0"),
        ("workers", "2", "65537", "6: workers: must be at most 65536, got 65537"),
        ("workers", "2", "yes", "6: workers: expected a whole number, got 'yes'"),
    ],
)
def test_numbers_out_of_range(refused, field, old, new, said):
    spec = "".join(
        line.replace(old, new) if line.startswith(f"{field}:") else line
        for line in GOOD.splitlines(keepends=True)
    )
    assert refused(spec) == f"bad.yaml:{said}"


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ("4", "expected a size with its unit, such as '4 MiB', got 4"),
        ("'4'", "a unit is missing in '4'; write it as in '4 MiB'"),
        ("4 mib", "unknown unit 'mib' in '4 mib'; write it as in '4 MiB'"),
        ("4 Mbit", "unknown unit 'Mbit' in '4 Mbit'"),
        ("MiB", "cannot read 'MiB'; write a number and a unit, such as '4 MiB'"),
        ("4 MiB 2 KiB", "cannot read '4 MiB 2 KiB'; write"),
        ("-4 MiB", "a size cannot be negative: '-4 MiB'"),
        ("0.3 B", "'0.3 B' is not a whole number of bytes"),
        ("1e400 B", "'1e400 B' is not finite"),
        ("1e30 TiB", "must be less than 9223372036854775808"),
        ("6 B", "6 B is not a whole number of float32 elements; write a multiple of 4 B"),
        ("1,000 B", "cannot read '1,000 B'; write"),
    ],
)
def test_sizes(refused, size, said):
    spec = PAYLOAD.replace("{payload: 4 MiB}", f"\n  payload: {size}")
    assert refused(spec).startswith(f"bad.yaml:3: task.payload: {said}")


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ("  workers: []", "11: matrix.workers: an axis needs at least one value"),
        ("  workers:", "11: matrix.workers: expected a list of values, got null"),
        ("  worker: [1]", "11: matrix: unknown axis 'worker'; did you mean 'workers'?"),
        ("  optimizer.lr: [1]", "11: matrix: unknown axis 'optimizer.lr'; did you mean "),
        ("  repeats: [1]", "11: matrix: unknown axis 'repeats'"),
        (
            f"  steps: {list(range(1, 41))}\n  workers: {list(range(1, 27))}",
            "10: matrix: 1040 cells; a spec may have 1000",
        ),
        ("  workers: [1, 2]\n  include: [{}]", "12: matrix.include[0]: expected a map from field"),
        ("  workers: [1, 2]\n  exclude: [{workers: 3}]", "12: matrix.exclude[0]: removes no cell"),
        ("  workers: [1, 2, 1]", "10: matrix: cells 1 and 3 are the same (ring, 1 worker); drop"),
    ],
)  # fmt: skip
def test_matrices(refused, matrix, said):
    assert refused(f"{GOOD}matrix:\n{matrix}\n").startswith(f"bad.yaml:{said}")


@pytest.mark.parametrize("name", ["../x", "a/b", "/a", ".", "..", "'a\\b'", "''", "-rf", "a b"])
def test_names_that_would_leave_the_results_folder(refused, name):
    said = refused(GOOD.replace("name: good", f"name: {name}"))
    assert said.startswith("bad.yaml:1: name: names a folder: up to 64 letters, digits, ")


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("bad.yaml/out", "Not a directory"),
        ("/proc/psbench", "No such file or directory"),
        ("/sys/psbench", "Operation not permitted"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_folder_that_cannot_be_made(refused, out, said):
    assert said in refused(GOOD, "--out", out)


@pytest.mark.parametrize(
    ("spec", "arguments", "said"),
    [
        (GOOD + "seed: !!python/object/apply:os.system ['touch harm']\n", (), "tags are not"),
        (GOOD, ("--set", "seed=!!python/object/apply:os.system ['touch harm']"), "tags are not"),
    ],
)
def test_as_a_process_of_its_own(tmp_path, spec, arguments, said):
    (tmp_path / "bad.yaml").write_text(spec)
    command = [sys.executable, "-c", "from psbench.cli import main; main()", "run", "bad.yaml"]
    done = subprocess.run(
        [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]
