"""How the spec room words what is wrong: one line naming the field and what would be right."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from pydantic_core import PydanticCustomError

from psbench.errors import SpecError

FieldPath = tuple[str | int, ...]
"""Where a value stands in the spec document: ("matrix", "workers", 0)."""

MISSING = "missing; set it in the spec or as an axis of the matrix"

_LONGEST_QUOTE = 60
_LONGEST_LIST = 260
_LONGEST_PATH = 120
_MOST_MEANT = 2
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]{1,60}")


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
        text += f"[{step}]" if isinstance(step, int) else f".{_key(step)}" if text else _key(step)
    return text if len(text) <= _LONGEST_PATH else f"{text[:_LONGEST_PATH]}..."


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else show(name)


def printable(text: str) -> str:
    """Return what others' code says of the user's text as one line of bounded length."""
    line = " ".join(text.split())
    line = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)
    return line if len(line) <= _LONGEST_LIST else f"{line[:_LONGEST_LIST]}..."


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
        return repr(_cut(value))
    if isinstance(value, int | float):
        return _cut(repr(value))
    return type(value).__name__


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."


def unknown(noun: str, name: str, known: Iterable[str], elsewhere: Iterable[str] = ()) -> str:
    """Return "unknown <noun> 'rign'; did you mean 'ring'? (known: ring, tree)".

    Meant may be a dotted path that ends in the name, among those known or to be had `elsewhere`.
    """
    known = list(known)
    short = name[:_LONGEST_QUOTE]
    meant = [path for path in (*known, *elsewhere) if path.endswith(f".{short}")][:_MOST_MEANT]
    meant = meant or difflib.get_close_matches(short, known, n=1)
    hint = f"; did you mean {' or '.join(map(repr, meant))}?" if meant else ""
    return f"unknown {noun} {show(name)}{hint} (known: {listed(known)})"


def listed(names: list[str]) -> str:
    """Return `names` as a list, cut where it gets long."""
    length = 0
    for shown, name in enumerate(names):
        length += len(name) + 2
        if length > _LONGEST_LIST:
            return f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return ", ".join(names)


def wrong(text: str) -> PydanticCustomError:
    """Return the error a validator raises when one value is wrong."""
    return PydanticCustomError("wrong", "{text}", {"text": text})


def conflict(text: str, *, at: str | None = None) -> PydanticCustomError:
    """Return the error a validator raises when two fields, each right alone, do not go together.

    `at` is the dotted path of the field in the one that is validated, where it lies in there.
    """
    context = {"text": text} | ({} if at is None else {"at": at})
    return PydanticCustomError("conflict", "{text}", context)
