"""What cells are called where people read of them."""

from collections.abc import Sequence
from typing import Any

from psbench.results import (
    computing_in_words,
    networks_in_words,
    networks_told_in_words,
    told_by_task,
    told_in_words,
)
from psbench.spec import Cell, PayloadTask, ProfileTask, cell_fields, cell_id, varying_fields
from psbench.units import format_bytes, show_value

_IN_LABEL = ("strategy", "workers")
_NAMELESS = ("engine",)
"""Fields whose values say what they are."""


def cell_labels(cells: Sequence[Cell]) -> dict[str, str]:
    """Return each cell's label by its id, with all that tells it from the others: "ring, 4 workers,
    lr 0.1"; its task, where more would say the same."""
    varying = [path for path in varying_fields(cells) if path.split(".")[0] not in _IN_LABEL]
    fields = [cell_fields(cell) for cell in cells]
    tasks = [task_name(cell) for cell in cells]
    told = told_by_task(tasks, {path: [own.get(path) for own in fields] for path in varying})
    in_words = told_in_words(path for path in varying if path not in told)
    of_networks = networks_told_in_words(varying)
    networks = networks_in_words([_network(cell) for cell in cells], varying)
    names = _short_names([path for path in varying if path not in told | in_words | of_networks])
    labels = {}
    for cell, own, task, network in zip(cells, fields, tasks, networks, strict=True):
        parts = [f"task {task}"] if told else []
        if in_words:
            compute = cell.compute.model_dump(mode="json") if cell.compute else None
            parts.append(f"compute {computing_in_words(compute, cell.workers)}")
        parts += [
            f"{name} {show_value(own[path])}".lstrip()
            for path, name in names.items()
            if own.get(path) is not None
        ]
        parts += [network] if network else []
        labels[cell_id(cell)] = ", ".join([cell.label, *parts])
    return labels


def task_name(cell: Cell) -> str:
    """Return what a cell's task is called."""
    if isinstance(cell.task, PayloadTask):
        return f"payload of {format_bytes(cell.task.payload)}"
    return cell.task.profile if isinstance(cell.task, ProfileTask) else cell.task.model


def _network(cell: Cell) -> dict[str, Any] | None:
    return cell.network.model_dump(mode="json") if cell.network else None


def _short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the last part of each dotted path, or all of it where others end alike; "" where the
    value needs none."""
    last = [path.rpartition(".")[2] for path in paths]
    names = {
        path: path if last.count(name) > 1 else name for path, name in zip(paths, last, strict=True)
    }
    return names | {path: "" for path in names if path in _NAMELESS}
