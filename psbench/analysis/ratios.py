"""Ratios: how each cell compares with the cell of one strategy that is like it in all else.

Repeats are interleaved in time, so repeat r of a cell is paired with repeat r of its baseline: what
slowed the machine for a while then slowed both.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from psbench.analysis.cells import all_but
from psbench.analysis.frames import MEASURES, cell_columns, variant_axes
from psbench.analysis.statistics import paired_ratio
from psbench.errors import ResultsError


def ratios_frame(
    manifest: dict[str, Any], trials: pd.DataFrame, baseline: str, measure: str
) -> pd.DataFrame:
    """Return one row a cell of another strategy than `baseline`; `Results.ratios` says which."""
    strategies = list(dict.fromkeys(cell["strategy"] for cell in manifest["cells"]))
    _check_known("strategy", baseline, strategies)
    _check_known("measure", measure, MEASURES)
    ok = trials[trials["status"] == "ok"]
    values = ok.set_index(["cell_id", "repeat"])[measure].astype(float)
    twins = {
        _all_else(cell): cell["id"] for cell in manifest["cells"] if cell["strategy"] == baseline
    }
    columns = cell_columns(manifest)
    names = ["strategy", "workers", *variant_axes(manifest)]
    records = []
    for cell in manifest["cells"]:
        if cell["strategy"] != baseline:
            own = _of_cell(values, cell["id"])
            paired = own.align(_of_cell(values, twins.get(_all_else(cell))), join="inner")
            identity = {"cell_id": cell["id"]} | {name: columns[cell["id"]][name] for name in names}
            records.append(identity | asdict(paired_ratio(*paired)))
    bounds = ("ratio", "low", "high", "num_pairs")
    return pd.DataFrame(records, columns=["cell_id", *names, *bounds])


def _all_else(cell: dict[str, Any]) -> str:
    return all_but(cell["fields"], "strategy")


def _of_cell(values: "pd.Series[float]", cell_id: str | None) -> "pd.Series[float]":
    """Return the values of one cell by repeat; none for a cell that is not there."""
    own = values[values.index.get_level_values("cell_id") == cell_id]
    return own.droplevel("cell_id").astype(np.float64)


def _check_known(noun: str, name: str, known: Any) -> None:
    if name not in known:
        raise ResultsError(f"no {noun} {name!r} in these results; there are {', '.join(known)}")
