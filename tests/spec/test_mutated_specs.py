"""Thousands of damaged specs: each is a spec that survives writing, or one line naming the file.

Fields, kinds and names come from the schema, so that a new one is mutated as soon as it is there.
"""

import contextlib
import copy
import json
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psbench.errors import SpecError
from psbench.spec import Cell, Spec, cell_id, spec_schema
from psbench.spec.structure import field_paths
from psbench.spec.yaml_loader import parse_yaml

EXAMPLES = 2500  # of each of the two tests; loading one takes some milliseconds
LONGEST_LINE = 400
# of processor time, so that a busy machine does not matter; most take a hundredth
LONGEST_SECONDS = 2.0

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.yaml"))
SEEDS = [path.read_text() for path in EXPERIMENTS] + [
    """\
name: payload
task: {payload: 4 MiB, dtype: float64}
steps: 20
warmup: 5
workers: 2
strategy: {kind: all_reduce, algorithm: tree, chunks: 8}
matrix:
  workers: [1, 2, 4]
  strategy:
    - ring
    - {kind: parameter_server, consistency: asynchronous}
    - native
    - {kind: none}
  include:
    - {workers: 3, strategy: tree, strategy.chunks: 2}
  exclude:
    - {workers: 1, strategy: native}
repeats: 3
seed: 7
""",
    """\
name: strong
# a comment
task:
  model: digits_mlp
  optimizer: &adam
    kind: adam
    lr: 1e-3
    betas: [0.9, 0.99]
batch:
  global: 128
steps: 100
eval_every: 10
target: {loss: 0.5}
transport: gloo
engine: live
workers: 4
strategy: ps-sync
matrix:
  task.optimizer:
    - *adam
    - {kind: sgd, lr: 0.1, momentum: 0.9}
  task.dtype: [float32, float64]
  batch: [{per_worker: 8}, {global: 64}]
""",
    """\
name: profile
task: {profile: resnet50, dtype: float32}
batch: {per_worker: 64}
compute: {seconds: 200 ms, jitter: 0.1}
steps: 20
workers: 4
strategy: {kind: all_reduce, algorithm: ring, bucket: 25 MiB, overlap: true}
matrix:
  task.profile: [alexnet, vgg16]
  compute.seconds: [100 ms, 1 s]
""",
]
DOCUMENTS = [parse_yaml(seed, str)[0] for seed in SEEDS]


def words_of(schema):
    """Every property, name and example in a JSON Schema."""
    if isinstance(schema, list):
        return {word for part in schema for word in words_of(part)}
    if not isinstance(schema, dict):
        return set()
    found = {name for name in schema.get("properties", {}) if "." not in name}
    found |= {schema["const"]} if isinstance(schema.get("const"), str) else set()
    found |= {one for one in schema.get("enum", []) if isinstance(one, str)}
    found |= {one for one in schema.get("examples", []) if isinstance(one, str)}
    return found.union(*(words_of(part) for part in schema.values()))


WORDS = sorted(words_of(spec_schema()))
PATHS = sorted(field_paths(Cell))
FIELDS = sorted(spec_schema()["properties"])

HOSTILE = [
    *["null", "~", "true", "off", "0", "-1", "1e999", "-.inf", ".nan", "1e-400", "010", "0x10"],
    *[
        "9223372036854775808",
        "1" * 500,
        "1_000",
        "''",
        "'",
        '"',
        "x" * 5000,
        "4",
        "4 mib",
        "-4 MiB",
    ],
    *["1e30 TiB", "0.3 B", "[]", "{}", "[[[[]]]]", "[" * 80, "{a: " * 60, "- - - -", "? ", ": :"],
    *["&a [*a]", "*nowhere", "&b", "<<: *adam", "!!python/object/apply:os.getcwd []", "!!str 1"],
    *["!x", "---", "...", "%YAML 1.1", "%TAG ! !", "# ", "\t", "\r", "\x85", "\u2028", "\ufeff"],
    *[
        "\x00",
        "\x1b[31m",
        '"\\e[31m"',
        '"\\0"',
        '"\\x85"',
        '"\\uD800"',
        "|\n",
        ">-\n",
        "../x",
        "a/b",
    ],
    *[
        "ｒing",
        "rіng",
        "ｗorkers: 2",
        "workers\u200b: 2",
        "é",
        "\U0001f40d",
        "\u202ename",
        "٣",
        "１",
    ],
]
RAW = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xfe\xff\x00n", b"\x00"]

_place = st.floats(0, 1, exclude_max=True)
_text_change = st.tuples(
    st.sampled_from(
        ["delete", "swap", "double", "move line", "drop line", "indent", "put", "value"]
    ),
    _place,
    _place,
    st.one_of(
        st.sampled_from(HOSTILE + WORDS + PATHS).map(str.encode),
        st.sampled_from(RAW),
        st.binary(max_size=3),
    ),
)


def change_text(data, action, first, second, piece):
    """Return the bytes `data` with one kind of damage; places are shares of the whole."""
    lines = data.splitlines(keepends=True) or [b""]
    line, other = int(first * len(lines)), int(second * len(lines))
    start, length = int(first * len(data)), 1 + int(second**3 * 30)
    if action == "delete":
        return data[:start] + data[start + length :]
    if action == "swap":
        middle = start + length
        return (
            data[:start]
            + data[middle : middle + length]
            + data[start:middle]
            + data[middle + length :]
        )
    if action == "double":
        return data[: start + length] + data[start:]
    if action == "put":
        return data[:start] + piece + data[start:]
    if action == "move line":
        lines.insert(other, lines.pop(line))
    elif action == "drop line":
        del lines[line]
    elif action == "indent":
        lines[line] = b" " * (other % 4 + 1) + lines[line]
    else:
        key, colon, _ = lines[line].partition(b":")
        lines[line] = key + colon + b" " + piece + b"\n"
    return b"".join(lines)


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """`check(data)`: the spec file `data` is a spec, or is refused as a user may expect."""

    def check(data):
        Path("x.yaml").write_bytes(data)
        began = time.process_time()
        try:
            spec = Spec.load("x.yaml")
        except SpecError as error:
            line = str(error)
            assert line.startswith("x.yaml:")
            assert len(line) < LONGEST_LINE
            assert line.isprintable(), "no second line, and nothing that a terminal obeys"
            assert "pydantic" not in line
        else:
            again = Spec(**json.loads(json.dumps(spec.document())))
            assert [cell_id(cell) for cell in again.cells()] == [cell_id(c) for c in spec.cells()]
            for cell in spec.cells():
                assert Cell.model_validate(cell.model_dump(mode="json", by_alias=True)) == cell
        assert time.process_time() - began < LONGEST_SECONDS

    with contextlib.chdir(tmp_path_factory.mktemp("mutated")):
        yield check


thorough = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_seeds_are_specs(seed, check):
    Path("x.yaml").write_text(seed)
    assert Spec.load("x.yaml").cells()
    check(seed.encode())


@thorough
@given(st.sampled_from(SEEDS), st.lists(_text_change, min_size=1, max_size=3))
def test_damaged_text(check, seed, changes):
    data = seed.encode()
    for change in changes:
        data = change_text(data, *change)
    check(data)


NUMBERS = [0, 1, 2, 3, -1, 0.5, 1e-3, 10**18, 2**63, -(2**70), 1e-320, 1e308, float("inf")]
SCALARS = [None, True, False, *NUMBERS, float("-inf"), float("nan"), *WORDS, *HOSTILE]
# drawn from lists: Hypothesis' own texts and recursive values would take longer than loading them
_scalars = st.sampled_from(NUMBERS) | st.sampled_from(WORDS) | st.sampled_from(SCALARS)
_keys = st.sampled_from(WORDS) | st.sampled_from(HOSTILE)
_inner = st.one_of(
    _scalars, st.lists(_scalars, max_size=3), st.dictionaries(_keys, _scalars, max_size=3)
)
_values = st.one_of(
    _scalars, st.lists(_inner, max_size=3), st.dictionaries(_keys, _inner, max_size=3)
)
_structure_change = st.one_of(
    st.tuples(st.sampled_from(["set", "delete", "add", "wrap", "twin"]), _place, _values),
    st.tuples(st.just("axis"), st.sampled_from(PATHS), st.lists(_values, max_size=3)),
    st.tuples(
        st.sampled_from(["include", "exclude"]),
        st.just(None),
        st.lists(st.dictionaries(st.sampled_from(PATHS), _values, max_size=2), max_size=2),
    ),
    st.tuples(st.just("field"), st.sampled_from(FIELDS), _values),
)


def places(value, path=()):
    """Yield the path of every value in `value`."""
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from places(inner, (*path, key))


def change_structure(document, action, place, value):
    """Change `document` in place."""
    if action == "field":
        document[place] = value
        return
    if action in ("axis", "include", "exclude"):
        matrix = document.get("matrix")
        document["matrix"] = matrix = matrix if isinstance(matrix, dict) else {}
        matrix[place if action == "axis" else action] = value
        return
    everywhere = [path for path in places(document) if path]
    if not everywhere:
        return
    *parents, last = everywhere[int(place * len(everywhere))]
    for step in parents:
        document = document[step]
    if action == "set":
        document[last] = value
    elif action == "delete":
        del document[last]
    elif action == "wrap":
        document[last] = [document[last]]
    elif isinstance(document, list):
        document.append(copy.deepcopy(document[last]) if action == "twin" else value)
    else:
        key = f"{last}s" if action == "twin" else str(value)[:100]
        document[key] = copy.deepcopy(document[last])


def written(document):
    """Return `document` as YAML: JSON is, but for what is not finite."""
    text = json.dumps(document, ensure_ascii=False)
    for python, ours in (("-Infinity", "-.inf"), ("Infinity", ".inf"), ("NaN", ".nan")):
        text = text.replace(python, ours)
    return text.encode(errors="surrogatepass")


@thorough
@given(st.sampled_from(DOCUMENTS), st.lists(_structure_change, min_size=1, max_size=2))
def test_damaged_structure(check, seed, changes):
    document = copy.deepcopy(seed)
    for change in changes:
        change_structure(document, *copy.deepcopy(change))
    check(written(document))
