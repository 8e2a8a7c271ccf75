"""Read a spec file and put the command line's overrides over it."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from psbench.errors import SpecError
from psbench.spec.document import LISTS_OF_FIELDS, expand_shorthands, set_at
from psbench.spec.messages import FieldError, FieldPath, show
from psbench.spec.yaml_loader import Marks, parse_yaml

MAX_FILE_BYTES = 2**20


def read_spec(
    path: str | PathLike[str], overrides: Sequence[str] = ()
) -> tuple[dict[str, Any], Marks]:
    """Return the document in the file at `path` under `overrides`, and where its values stand.

    An override is "field.path=value", the value in strict YAML; "matrix.AXIS=[...]" sets an axis.
    Raises SpecError for what is not readable; whether it is a valid spec is not checked here.
    """
    name = fspath(path)
    document, marks = parse_yaml(read_text(name), lambda line: f"{name}:{line}")
    if document is None:
        raise SpecError(f"{name}:1: empty; a spec is a map of fields, such as `name: quickstart`")
    if not isinstance(document, dict):
        raise SpecError(f"{name}:1: expected a map of fields, got {show(document)}")
    document = expand_shorthands(document)
    paths = {text: _override(document, marks, text) for text in overrides}
    for text, target in paths.items():
        _check_effect(document, text, target)
    return document, marks


def locate(marks: Marks, path: FieldPath) -> str:
    """Return where `path`, or the nearest value around it, was written."""
    while path not in marks:
        path = path[:-1]
    return marks[path]


def read_text(name: str) -> str:
    """Return the text of the file `name`; SpecError, naming it, where that cannot be."""
    try:
        with Path(name).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise SpecError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise SpecError(f"{name}: is a folder; name a spec file in it") from None
    except (OSError, ValueError) as error:
        raise SpecError(f"{name}: cannot be read ({error})") from None
    if len(data) > MAX_FILE_BYTES:
        raise SpecError(f"{name}: more than {MAX_FILE_BYTES} bytes; not a file of ours")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{name}:{line}: not UTF-8 text; save the file as UTF-8") from None


def _override(document: dict[str, Any], marks: Marks, text: str) -> tuple[str, ...]:
    """Carry out `text` on `document` and `marks`, in place; return the path it sets."""
    where = f"--set {text}"
    field, equals, value_text = text.partition("=")
    path = _split(field.strip())
    if not equals or not all(path):
        raise SpecError(f"{where}: write it as field=value, such as workers=2")
    value, inner = parse_yaml(value_text, lambda _: where)
    try:
        set_at(document, path, value)
    except FieldError as error:
        raise SpecError(f"{where}: {error}") from None
    document.update(expand_shorthands(document))  # a later override may reach into this one
    for old in [mark for mark in marks if mark[: len(path)] == path]:
        del marks[old]
    for depth in range(1, len(path)):
        marks.setdefault(path[:depth], where)
    marks[path] = where
    marks.update({(*path, *rest): mark for rest, mark in inner.items()})
    return path


def _split(field: str) -> tuple[str, ...]:
    """Split a dotted path; all that follows "matrix." is one key, an axis with dots of its own."""
    first, dot, rest = field.partition(".")
    return (first, rest) if dot and first == "matrix" else tuple(field.split("."))


def _check_effect(document: dict[str, Any], text: str, path: tuple[str, ...]) -> None:
    matrix = document.get("matrix")
    for axis in matrix if isinstance(matrix, dict) else ():
        parts = tuple(axis.split("."))
        if axis not in LISTS_OF_FIELDS and path[: len(parts)] == parts:
            value = text.partition("=")[2] if path == parts else "..."
            raise SpecError(
                f"--set {text}: no effect, {axis} is an axis of the matrix;"
                f" use --set 'matrix.{axis}=[{value}]'"
            )
