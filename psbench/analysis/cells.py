"""What a manifest says of a cell, beside its columns."""

import json
import math
from typing import Any


def field_at(fields: dict[str, Any], path: str) -> Any:
    """Return the field at a dotted path; None where there is none."""
    value: Any = fields
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def all_but(fields: dict[str, Any], path: str) -> str:
    """Return `fields` as JSON, without the one at a dotted path: alike where all else is.

    They are as the spec has them: what follows from them, such as how many servers there are where
    each host has one, does not count.
    """
    copy = json.loads(json.dumps(fields))
    *parents, name = path.split(".")
    holder = field_at(copy, ".".join(parents)) if parents else copy
    if isinstance(holder, dict):
        holder.pop(name, None)
    return json.dumps(copy, sort_keys=True)


def is_virtual(cell: dict[str, Any]) -> bool:
    """Say whether the cell ran in virtual time, without processes."""
    return bool(cell["engine"] == "simulated")


def live_cells(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells whose processes moved real bytes."""
    return [cell for cell in manifest["cells"] if not is_virtual(cell)]


def of_time(manifest: dict[str, Any]) -> str:
    """Return what a picture's title says of its time: nothing, unless all of it is virtual."""
    return "" if live_cells(manifest) else " in virtual time"


def is_colocated(cell: dict[str, Any]) -> bool:
    """Say whether the cell's servers are put on the workers' hosts."""
    strategy = cell["fields"]["strategy"]
    return bool(strategy.get("over", strategy).get("placement") == "colocated")


def logical_hosts(cell: dict[str, Any]) -> int:
    """Return on how many hosts the spec put the cell's processes; 0 where it does not say. In
    virtual time each worker then has a host of its own."""
    cluster = cell["fields"].get("cluster") or {}
    hosts, per_host = cluster.get("hosts"), cluster.get("ranks_per_host")
    if is_virtual(cell) and not (hosts or per_host):
        per_host = 1
    if not (hosts or per_host):
        return 0
    own = 0 if is_colocated(cell) else cell["servers"]
    return int(hosts or math.ceil(cell["workers"] / per_host)) + int(own)
