"""How the spec room words what is wrong: one line naming the field and what would be right."""

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic_core import PydanticCustomError

from psbench.errors import SpecError

FieldPath = tuple[str | int, ...]
"""Where a value stands in the spec document: ("matrix", "workers", 0)."""

MISSING = "missing; set it in the spec or as an axis of the matrix"

_LONGEST_QUOTE = 60


class FieldError(SpecError):
    """A SpecError that knows the field it is about, so that a line of a file can be added to it.

    `named` says that `text` itself names the path's last step, which is then not repeated.
    """

    def __init__(self, path: FieldPath, text: str, *, named: bool = False) -> None:
        where = format_path(path[:-1] if named else path)
        super().__init__(f"{where}: {text}" if where else text)
        self.path = path
        self.text = text
        self.named = named


def format_path(path: FieldPath) -> str:
    """Return `path` as a user would write it: "matrix.workers[0]"."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def show(value: Any) -> str:
    """Return a short, one-line name for a value in the words of YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        short = value if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "..."
        return repr(short)
    if isinstance(value, int | float):
        return repr(value)
    return type(value).__name__


def unknown(noun: str, name: str, known: Iterable[str]) -> str:
    """Return "unknown <noun> 'rign'; did you mean 'ring'? (known: ring, tree)"."""
    known = list(known)
    close = difflib.get_close_matches(name[:_LONGEST_QUOTE], known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"unknown {noun} {show(name)}{hint} (known: {', '.join(known)})"


def wrong(text: str) -> PydanticCustomError:
    """Return the error a validator raises when one value is wrong."""
    return PydanticCustomError("wrong", "{text}", {"text": text})


def conflict(text: str) -> PydanticCustomError:
    """Return the error a validator raises when two fields, each right alone, do not go together."""
    return PydanticCustomError("conflict", "{text}", {"text": text})
