"""Strict YAML: what each text means, and what is refused with which words."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.errors import SpecError
from psbench.spec.yaml_loader import parse_yaml


def parse(text: str):
    return parse_yaml(text, lambda line: f"x.yaml:{line}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("-4", -4),
        ("+4", 4),
        ("0", 0),
        ("1e-3", 0.001),
        ("1E5", 100000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("-1.5e+2", -150.0),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("NO", "NO"),
        ("y", "y"),
        ("n", "n"),
        ("null", None),
        ("~", None),
        ("", None),
        ("none", "none"),
        ("2024-01-31", "2024-01-31"),
        ("1:30", "1:30"),
        ("0x10", "0x10"),
        ("0o10", "0o10"),
        ("1_000", "1_000"),
        ("e5", "e5"),
        (".", "."),
        ("4 MiB", "4 MiB"),
        ("'4'", "4"),
        ('"true"', "true"),
        ("''", ""),
        ("'010'", "010"),
        ("[1, a, null]", [1, "a", None]),
        ("{a: 1, b: [2]}", {"a": 1, "b": [2]}),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_values(text, value):
    got = parse(f"x: {text}")[0]["x"]
    assert got == value
    assert type(got) is type(value)


def test_nan():
    assert math.isnan(parse("x: .nan")[0]["x"])


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null\n"])
def test_nothing_is_none(text):
    assert parse(text)[0] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 010", "x.yaml:1: 010 has a leading zero; write 10, or quote it if it is text"),
        ("a: -00", "x.yaml:1: -00 has a leading zero; write 0, or quote it if it is text"),
        ("a: 1\nb: 2\na: 3", "x.yaml:3: duplicate key 'a' (first on line 1)"),
        ("m: {a: 1,\n  a: 1}", "x.yaml:2: duplicate key 'a' (first on line 1)"),
        ("a: 1\n'a': 2", "x.yaml:2: duplicate key 'a' (first on line 1)"),
        (
            "a: !!python/object/apply:os.system [echo]",
            "x.yaml:1: tags are not supported:"
            " 'tag:yaml.org,2002:python/object/apply:os.system'; remove it",
        ),
        (
            "a:\n  b: !!str 1",
            "x.yaml:2: tags are not supported: 'tag:yaml.org,2002:str'; remove it",
        ),
        ("a: ! 1", "x.yaml:1: tags are not supported: '!'; remove it"),
        (
            "a: &a {b: 1}\nc:\n  <<: *a",
            "x.yaml:3: merge keys (<<) are not supported; write the fields out",
        ),
        ("a: 1\n---\nb: 2", "x.yaml:2: a second document starts here; write one a file"),
        (
            "a:\n\tb: 1",
            "x.yaml:2: found character '\\t' that cannot start any token; indent with spaces",
        ),
        ("a: b: c", "x.yaml:1: mapping values are not allowed here"),
        ("a: *b", "x.yaml:1: found undefined alias 'b'"),
        ("1: a", "x.yaml:1: a key must be text, got 1; quote it if it is meant"),
        ("a: 1\nnull: a", "x.yaml:2: a key must be text, got null; quote it if it is meant"),
        ("true: a", "x.yaml:1: a key must be text, got true; quote it if it is meant"),
        ("[a]: 1", "x.yaml:1: a key must be text"),
        ("a: 1\nb: \x01", "x.yaml:2: a character that YAML does not allow"),
        ("a: " + "1" * 5000, "x.yaml:1: a number of 5000 characters"),
        ("a: &a [*a]", "x.yaml:1: nested more than 50 deep, aliases followed"),
        ("[" * 10_000, "x.yaml:1: nested more than 50 deep"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(SpecError) as error:
        parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize("escape", ["\\UFFFFFFFF", "\\U7FFFFFFF"])
def test_escapes_out_of_range(escape):
    with pytest.raises(SpecError, match=r"^x\.yaml:1: not valid YAML: "):
        parse(f'a: "{escape}"')


def test_aliases_are_followed_but_not_without_end():
    assert parse("a: &a [1, 2]\nb: *a")[0] == {"a": [1, 2], "b": [1, 2]}
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(SpecError, match="more than 100,000 values, aliases followed"):
        parse("\n".join(["a0: &a0 [1]", *levels]))


def test_marks_name_the_line_of_every_value():
    text = "name: x\nmatrix:\n  workers:\n    - 1\n    - 2\n  strategy: [ring,\n    tree]\n"
    assert parse(text)[1] == {
        (): "x.yaml:1",
        ("name",): "x.yaml:1",
        ("matrix",): "x.yaml:2",
        ("matrix", "workers"): "x.yaml:3",
        ("matrix", "workers", 0): "x.yaml:4",
        ("matrix", "workers", 1): "x.yaml:5",
        ("matrix", "strategy"): "x.yaml:6",
        ("matrix", "strategy", 0): "x.yaml:6",
        ("matrix", "strategy", 1): "x.yaml:7",
    }


_PIECES = ["a", "b", ": ", "- ", "\n", "  ", "[", "]", "{", "}", ",", "&x ", "*x", "!!str ", "<<"]
_MORE = ["'", '"', "\\", "\\U0", "|", ">", "%YAML 9", "---", "...", "?", "#", "\t", "0", "1e9", "~"]


@given(st.one_of(st.text(), st.lists(st.sampled_from(_PIECES + _MORE)).map("".join)))
def test_any_text_is_data_or_a_spec_error(text):
    with contextlib.suppress(SpecError):
        parse(text)
