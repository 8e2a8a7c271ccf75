"""Strict YAML: plain data and where it stands, from a subset without surprises.

Numbers are those of YAML 1.2 (`1e-3` is one, `010` and `1:30` are not), `true` and `false` are the
only booleans, no tag is followed and no object built, no key may come twice, and neither nesting
nor aliases can exhaust memory.
"""

import re
from collections.abc import Callable
from typing import Any, NoReturn

import yaml

from psbench.errors import SpecError
from psbench.spec.document import MAX_DEPTH
from psbench.spec.messages import FieldPath, printable, show

MAX_NODES = 100_000

Marks = dict[FieldPath, str]
"""Where each value was written, in words for the user: "experiments/x.yaml:12"."""

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INF_OR_NAN = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_MAX_DIGITS = 400  # more than any float has; Python itself refuses a few thousand


def parse_yaml(text: str, at: Callable[[int], str]) -> tuple[Any, Marks]:
    """Return the one document in `text` as plain data, None where it is empty, and its marks.

    `at` puts a line number, counted from 1, into words. Raises SpecError that starts with them.
    """
    try:
        node = _compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "not YAML"
        hint = "; indent with spaces" if "'\\t'" in problem else ""
        raise SpecError(f"{at(mark.line + 1 if mark else 1)}: {printable(problem)}{hint}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SpecError(f"{at(line)}: a character that YAML does not allow") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # PyYAML lets Python's own errors out for escapes and version numbers out of range.
        raise SpecError(f"{at(1)}: not valid YAML: {printable(str(error))}") from None
    builder = _Builder(at)
    return (None if node is None else builder.value(node, ())), builder.marks


class _Composer(yaml.SafeLoader):
    """PyYAML's composer of nodes, held to a depth it does not recurse out of, refusing tags."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = _next_event(self)
        if getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(
                problem=f"tags are not supported: {event.tag!r}; remove it",
                problem_mark=event.start_mark,
            )
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(
                problem=f"nested more than {MAX_DEPTH} deep", problem_mark=event.start_mark
            )
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _compose(text: str) -> yaml.Node | None:
    composer = _Composer(text)
    try:
        if not composer.check_node():
            return None
        node = composer.get_node()
        if composer.check_node():
            raise yaml.MarkedYAMLError(
                problem="a second document starts here; write one a file",
                problem_mark=_next_event(composer).start_mark,
            )
        return node
    finally:
        composer.dispose()


def _next_event(composer: _Composer) -> Any:
    return composer.peek_event()  # type: ignore[no-untyped-call]


class _Builder:
    """Builds plain data from nodes and notes where each value stands."""

    def __init__(self, at: Callable[[int], str]) -> None:
        self.marks: Marks = {}
        self._at = at
        self._visited = 0

    def value(self, node: yaml.Node, path: FieldPath) -> Any:
        self._visited += 1
        if self._visited > MAX_NODES:
            self._fail(node, f"more than {MAX_NODES:,} values, aliases followed")
        if len(path) > MAX_DEPTH:
            self._fail(node, f"nested more than {MAX_DEPTH} deep, aliases followed")
        self.marks.setdefault(path, self._at(_line(node)))
        if isinstance(node, yaml.MappingNode):
            return self._map(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node)

    def _map(self, node: yaml.MappingNode, path: FieldPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in lines:
                self._fail(key_node, f"duplicate key {show(key)} (first on line {lines[key]})")
            lines[key] = _line(key_node)
            self.marks[(*path, key)] = self._at(lines[key])
            found[key] = self.value(value_node, (*path, key))
        return found

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._fail(node, "a key must be text")
        if node.style is None and node.value == "<<":
            self._fail(node, "merge keys (<<) are not supported; write the fields out")
        key = self._scalar(node)
        if not isinstance(key, str):
            self._fail(node, f"a key must be text, got {show(key)}; quote it if it is meant")
        return key

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.style is not None:  # quoted, or a block of text
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if len(text) > _MAX_DIGITS and _FLOAT.fullmatch(text):
            self._fail(node, f"a number of {len(text)} characters")
        if _INT.fullmatch(text):
            return int(text)
        if _LEADING_ZERO.fullmatch(text):
            decimal = text.replace("0", "", 1) if text.strip("+-0") else "0"
            self._fail(
                node, f"{text} has a leading zero; write {decimal}, or quote it if it is text"
            )
        if _FLOAT.fullmatch(text):
            return float(text)
        if _INF_OR_NAN.fullmatch(text):
            return float(text.replace(".", ""))
        return text

    def _fail(self, node: yaml.Node, text: str) -> NoReturn:
        raise SpecError(f"{self._at(_line(node))}: {text}")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
