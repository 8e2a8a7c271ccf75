"""Which fields of cells say no more than which task it is."""

from collections.abc import Mapping, Sequence
from typing import Any

_OF_THE_WORK = ("task", "batch", "compute")


def told_by_task(tasks: Sequence[str], fields: Mapping[str, Sequence[Any]]) -> set[str]:
    """Return the dotted paths whose values follow from what the cells' `tasks` are called.

    `fields` has the values, one a cell, of what varies; only the task's own, its batch and its
    computing are looked at. None where that would spare no path: one says itself what it is.
    """
    first = {task: tasks.index(task) for task in tasks}
    told = {
        path
        for path, values in fields.items()
        if path.partition(".")[0] in _OF_THE_WORK
        and all(value == values[first[task]] for task, value in zip(tasks, values, strict=True))
    }
    return told if len(first) > 1 and len(told) > 1 else set()
