"""Scaling: what several workers do, against one."""

from typing import Any

import pandas as pd

from psbench.analysis.cells import all_but

SCALING = ("speedup", "efficiency")
"""What a trial is beside that of one worker: columns of the trials."""


def with_scaling(manifest: dict[str, Any], trials: pd.DataFrame) -> pd.DataFrame:
    """Return `trials` with `speedup`, X(p) / X(1), and `efficiency`, X(p) / (p X(1)).

    X is samples_per_s; X(1) that of the cell with one worker that is else alike, in the same
    repeat: repeats are interleaved, so what slowed the machine for a while slowed both. NaN where
    either trial is missing or not ok.
    """
    alone = {
        all_but(cell["fields"], "workers"): cell["id"]
        for cell in manifest["cells"]
        if cell["workers"] == 1
    }
    baseline = {
        cell["id"]: alone.get(all_but(cell["fields"], "workers")) for cell in manifest["cells"]
    }
    rates = trials["samples_per_s"].astype(float).where(trials["status"] == "ok")
    known = dict(zip(zip(trials["cell_id"], trials["repeat"], strict=True), rates, strict=True))
    ones = [
        known.get((baseline[cell_id], repeat))
        for cell_id, repeat in zip(trials["cell_id"], trials["repeat"], strict=True)
    ]
    speedup = rates / pd.Series(ones, index=trials.index, dtype=float)
    return trials.assign(speedup=speedup, efficiency=speedup / trials["workers"].astype(float))


def knows_efficiency(summary: pd.DataFrame) -> bool:
    """Say whether the efficiency of any cell with several workers is known."""
    return bool(summary.loc[summary["workers"] > 1, "efficiency"].notna().any())


def name_of_efficiency(manifest: dict[str, Any]) -> str:
    """Return "efficiency, weak scaling" where a worker's batch stays the same, "strong scaling"
    where the batch of all together does, or both."""
    batches = [cell["fields"].get("batch") or {} for cell in manifest["cells"]]
    kinds = {"weak": "per_worker", "strong": "global"}
    found = [kind for kind, field in kinds.items() if any(batch.get(field) for batch in batches)]
    return f"efficiency, {' and '.join(found)} scaling" if found else "efficiency"
