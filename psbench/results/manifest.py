"""The manifest: what a run was asked, and where it ran; written once, before the first trial."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from psbench.errors import ResultsError
from psbench.results.files import read_json

SCHEMA_VERSION = 1

_FIELDS = {"created": str, "spec": dict, "repeats": int, "cells": list, "environment": dict}
_CELL_FIELDS = {
    "id",
    "label",
    "strategy",
    "workers",
    "servers",
    "global_batch",
    "task",
    "transport",
    "engine",
    "target",
    "fields",
}


def build_manifest(
    *,
    spec_document: dict[str, Any],
    axes: list[str],
    cells: list[dict[str, Any]],
    environment: dict[str, Any],
    warnings: Sequence[str] = (),
    networks: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run; `RunFolder.write_manifest` adds the run's id.

    `spec_document` is the resolved spec as JSON and names `seed` and `repeats`. `axes` are the
    dotted paths that vary. Each of `cells`, in the spec's order, holds id, label, strategy (its
    label), workers, servers, global_batch, task (its label), transport, engine, steps, warmup,
    target (such as {"accuracy": 0.95}, or None) and fields (the whole cell as JSON).
    `environment` comes from `environment()`, with "copy_limit", the fields of a CopyLimit, where it
    was measured. `warnings` are what was known before the first trial,
    one line each. `networks`, by transport, are what was measured for `algorithm: auto`, as their
    files have it; there is no such field where there are none.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="microseconds"),
        "psbench_version": environment["versions"]["psbench"],
        "spec": spec_document,
        "seed": spec_document["seed"],
        "repeats": spec_document["repeats"],
        "axes": axes,
        "cells": cells,
        "environment": environment,
        "warnings": list(warnings),
        **({"networks": dict(networks)} if networks else {}),
    }


def has_manifest(run: Path) -> bool:
    """Say whether the folder `run` is a run that came as far as its manifest."""
    return (run / "manifest.json").is_file()


def read_manifest(run: Path) -> dict[str, Any]:
    """Return the manifest of the run folder `run`.

    Raises ResultsError where there is none, where it is damaged, or where a later psbench wrote it
    in a schema that this one does not know.
    """
    if not has_manifest(run):
        raise ResultsError(f"{run} is not a run folder: it has no manifest.json")
    path = run / "manifest.json"
    manifest = read_json(path)
    version = manifest.get("schema_version")
    if not isinstance(version, int):
        raise ResultsError(f"{path} is damaged: it names no schema_version")
    if version > SCHEMA_VERSION:
        raise ResultsError(
            f"{path} has schema version {version}, and this psbench reads up to {SCHEMA_VERSION}; "
            "update psbench to read it"
        )
    for name, kind in _FIELDS.items():
        if not isinstance(manifest.get(name), kind) or not manifest[name]:
            raise ResultsError(f"{path} is damaged: it lacks {name}")
    for cell in manifest["cells"]:
        if not isinstance(cell, dict) or not cell.keys() >= _CELL_FIELDS:
            raise ResultsError(f"{path} is damaged: one of its cells is incomplete")
    return manifest
