"""What the manifest says of a spec's cells."""

from typing import Any

from psbench.driver.labels import task_name
from psbench.spec import Cell, Target, cell_id, strategy_label


def describe_cell(cell: Cell, label: str) -> dict[str, Any]:
    """Return a cell, called `label`, as the manifest has it; see `results.build_manifest`."""
    return {
        "id": cell_id(cell),
        "label": label,
        "strategy": strategy_label(cell.strategy),
        "workers": cell.workers,
        "servers": cell.servers,
        "global_batch": cell.global_batch,
        "task": task_name(cell),
        "transport": cell.transport,
        "engine": cell.engine,
        "steps": cell.steps,
        "warmup": cell.warmup,
        "target": _target(cell.target),
        "fields": cell.model_dump(mode="json", by_alias=True),
    }


def _target(target: Target | None) -> dict[str, float] | None:
    return target.model_dump(exclude_none=True) if target else None
