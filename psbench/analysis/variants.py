"""What a cell is besides its strategy, for people: short texts by axis, and all of them in one."""

import json
from collections.abc import Iterable
from typing import Any

from psbench.analysis.cells import all_but, field_at
from psbench.analysis.frames import variant_axes
from psbench.results import (
    computing_in_words,
    networks_in_words,
    networks_told_in_words,
    told_by_task,
    told_in_words,
)
from psbench.units import count, show_value

ABSENT = "-"
_LONGEST = 28  # characters of a value
_LONGEST_IN_WORDS = 60
NAMELESS = ("engine", "network")
"""Columns whose values say what they are."""


def variant_columns(manifest: dict[str, Any], without: str | None = None) -> dict[str, list[str]]:
    """Return each axis but the strategy, the workers and `without`: its values, one a cell.

    Axes are named by the end of their dotted names. Those of one choice of several, such as an
    optimiser's kind and options, are one column that shows what differs: "sgd(lr=0.1)". So are
    those that go with the task and say no more than its name: "task". Where it differs which ranks
    are slow, all of `compute` is told in words; so is `network`, where links do.
    """
    cells = manifest["cells"]
    axes = [axis for axis in variant_axes(manifest) if axis != without]
    tasks = [cell["task"] for cell in cells]
    values = {axis: [field_at(cell["fields"], axis) for cell in cells] for axis in axes}
    told = told_by_task(tasks, values)
    columns = {"task": _distinct(tasks)} if told else {}
    axes = [axis for axis in axes if axis not in told]
    in_words = told_in_words(axes)
    if in_words:
        words = [_computing(cell, without) for cell in cells]
        columns["compute"] = _distinct(words, _LONGEST_IN_WORDS)
    of_networks = networks_told_in_words(axes)
    others = [axis for axis in axes if axis not in in_words | of_networks]
    for name, own in _grouped(others).items():
        columns[name] = _distinct([_text(_fields_of(cell, own)) for cell in cells])
    networks = networks_in_words([_network(cell, without) for cell in cells], axes)
    if any(networks):
        columns["network"] = _distinct([own or ABSENT for own in networks], _LONGEST_IN_WORDS)
    return columns


def variants(manifest: dict[str, Any], without: str | None = None) -> dict[str, str]:
    """Return, for each cell id, what it is besides its strategy: "4 workers, lr 0.1".

    The workers are left out where all cells have as many and other axes vary. `without` is an axis
    that is told otherwise, such as on a picture's x axis.
    """
    columns = variant_columns(manifest, without)
    same = len({cell["workers"] for cell in manifest["cells"]}) == 1
    names = {}
    for position, cell in enumerate(manifest["cells"]):
        tacit = without == "workers" or (same and columns)
        parts = [] if tacit else [count(cell["workers"], "worker")]
        values = ((name, texts[position]) for name, texts in columns.items())
        # A choice and its options speak for themselves.
        parts += [
            text if "(" in text or name in NAMELESS else f"{name} {text}"
            for name, text in values
            if text != ABSENT
        ]
        names[cell["id"]] = ", ".join(parts)
    return names


def _computing(cell: dict[str, Any], without: str | None) -> str:
    fields = cell["fields"].get("compute") or {}
    told = {name: value for name, value in fields.items() if f"compute.{name}" != without}
    return computing_in_words(told, cell["workers"])


def _network(cell: dict[str, Any], without: str | None) -> dict[str, Any] | None:
    own: dict[str, dict[str, Any] | None] = {"network": cell["fields"].get("network")}
    return json.loads(all_but(own, without))["network"] if without else own["network"]


def _grouped(axes: list[str]) -> dict[str, list[str]]:
    """Return axes by the name of their column; a `kind` takes its neighbours in."""
    parents = [axis.removesuffix(".kind") for axis in axes if axis.endswith(".kind")]
    wholes = [next((p for p in parents if axis.startswith(f"{p}.")), axis) for axis in axes]
    ends = [whole.rpartition(".")[2] for whole in dict.fromkeys(wholes)]
    groups: dict[str, list[str]] = {}
    for axis, whole in zip(axes, wholes, strict=True):
        end = whole.rpartition(".")[2]
        groups.setdefault(end if ends.count(end) == 1 else whole, []).append(axis)
    return groups


def _fields_of(cell: dict[str, Any], axes: Iterable[str]) -> dict[str, Any]:
    found = {axis.rpartition(".")[2]: field_at(cell["fields"], axis) for axis in axes}
    return {name: value for name, value in found.items() if value not in (None, [], {})}


def _text(fields: dict[str, Any]) -> str:
    values = {name: _value(value) for name, value in fields.items()}
    kind = values.pop("kind", None)
    if kind is None:
        return ", ".join(values.values()) or ABSENT
    options = ", ".join(f"{name}={text}" for name, text in values.items())
    return f"{kind}({options})" if options else kind


def _value(value: Any) -> str:
    return (
        json.dumps(value).replace('"', "") if isinstance(value, dict | list) else show_value(value)
    )


def _distinct(texts: list[str], longest: int = _LONGEST) -> list[str]:
    """Cut what is too long, numbering what cutting would make alike."""
    short: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        if len(text) <= longest:
            short[text] = text
            continue
        tails = ("…", *(f"… #{number}" for number in range(2, len(texts) + 1)))
        cuts = (text[: longest - len(tail)] + tail for tail in tails)
        short[text] = next(cut for cut in cuts if cut not in short.values())
    return [short[text] for text in texts]
