"""A measure against an axis: the lines of such a picture, as data."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from psbench.analysis.cells import all_but, field_at
from psbench.analysis.frames import cell_columns, varied_axes
from psbench.analysis.looks import NUM_COLORS
from psbench.analysis.results import Results
from psbench.analysis.variants import variants
from psbench.errors import ResultsError
from psbench.units import in_base_unit

_COLUMNS = ("workers", "servers", "global_batch")
"""Numbers of a cell that may serve as an axis, beside those that the spec varies."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Cells that differ in the axis alone; `hue` and `style` name what else they are.

    That is the strategy and whatever else varies; the other way round where there is one strategy,
    whose colour would say nothing.
    """

    hue: str
    style: str
    points: pd.DataFrame
    """One row a cell, by rising `x`: `y` is the median over repeats, `low` and `high` the least and
    the greatest. `censored`: `y` is a bound, the target lies beyond. `diverged`: some repeat did.
    """


def numeric_axes(manifest: dict[str, Any]) -> list[str]:
    """Return the axes of the spec along which some cells differ in 2 numbers or more, and alone."""
    axes = [*(axis for axis in manifest["axes"] if axis == "workers"), *varied_axes(manifest)]
    return [axis for axis in axes if _has_line(manifest, axis)]


def _has_line(manifest: dict[str, Any], axis: str) -> bool:
    positions = _positions(manifest, axis)
    groups = _groups(manifest, axis).values()
    return any(len({positions[own] for own in ids if own in positions}) > 1 for ids in groups)


def axis_series(results: Results, axis: str, measure: str) -> list[Series]:
    """Return the series of `measure`, a column of the summary, against `axis`.

    Cells without a number on the axis are left out. Raises ResultsError, naming the known ones, for
    an axis or a measure that is not there.
    """
    positions = _positions(results.manifest, axis)
    if not positions:
        known = [name for name in _COLUMNS if name != axis]
        known += [name for name in numeric_axes(results.manifest) if name not in known]
        raise ResultsError(f"no axis {axis!r} with numbers; there are {', '.join(known)}")
    points = _points(results, measure)
    points["x"] = pd.Series(positions)
    points = points[points["x"].notna()].sort_values("x")
    variant = variants(results.manifest, without=axis)
    lines = []
    for (strategy, _), ids in _groups(results.manifest, axis).items():
        own = points[points.index.isin(ids)]
        if len(own):
            lines.append(Series(hue=strategy, style=variant[ids[0]], points=own))
    if len({line.hue for line in lines}) == 1 and 1 < len(lines) <= NUM_COLORS:
        return [replace(line, hue=line.style, style=line.hue) for line in lines]
    return lines


def _groups(manifest: dict[str, Any], axis: str) -> dict[tuple[str, str], list[str]]:
    """Return the ids of cells that differ in `axis` alone, by strategy and all else."""
    groups: dict[tuple[str, str], list[str]] = {}
    for cell in manifest["cells"]:
        strategy = cell["strategy"]
        if axis.startswith("strategy."):  # the label names the value on the axis
            strategy = _without_option(strategy, axis.split(".")[1])
        groups.setdefault((strategy, all_but(cell["fields"], axis)), []).append(cell["id"])
    return groups


def _without_option(label: str, option: str) -> str:
    """Return "ring(overlap)" of "ring(bucket=40.0 KiB, overlap)", and "ssp" of "ssp:4"."""
    name, _, options = label.removesuffix(")").partition("(")
    name = name.partition(":")[0]
    left = [own for own in options.split(", ") if own and not own.startswith(f"{option}=")]
    return f"{name}({', '.join(left)})" if left else name


def numeric_columns(results: Results) -> list[str]:
    """Return the columns of the summary that a picture can show."""
    summary = results.summary()
    own = set(cell_columns(results.manifest)[summary["cell_id"].iloc[0]])
    numbers = summary.select_dtypes("number").columns
    return [name for name in numbers if name not in own]


def _points(results: Results, measure: str) -> pd.DataFrame:
    summary = results.summary().set_index("cell_id")
    known = numeric_columns(results)
    if measure not in known:
        raise ResultsError(f"no measure {measure!r}; there are {', '.join(known)}")
    trials = results.trials
    # A censored value is infinite, and beside it stands the bound that it lies beyond.
    bounded = f"{measure}_bound" if f"{measure}_bound" in summary else measure
    counted = trials["status"] == "ok" if bounded == measure else trials["status"] != "failed"
    spread = trials[counted].groupby("cell_id")[bounded] if bounded in trials else None
    censored = np.isinf(summary[measure].astype(float))
    # That it diverged early says nothing of the time that the target would have taken.
    lost = censored & (summary["num_ok"] == 0) & (summary["num_diverged"] > 0)
    return pd.DataFrame(
        {
            "y": summary[bounded].astype(float).mask(lost),
            "low": math.nan if spread is None else spread.min(),
            "high": math.nan if spread is None else spread.max(),
            "censored": censored & ~lost,
            "diverged": summary["num_diverged"] > 0,
        },
        index=summary.index,
    )


def _positions(manifest: dict[str, Any], axis: str) -> dict[str, float]:
    """Return where each cell with a number, a size or a time on `axis` lies, in base units."""
    found = {}
    for cell in manifest["cells"]:
        value = _one(cell[axis] if axis in _COLUMNS else field_at(cell["fields"], axis))
        quantity = in_base_unit(value)
        if quantity is not None:
            found[cell["id"]], _ = quantity
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[cell["id"]] = float(value)
    return found


def _one(value: Any) -> Any:
    """Return the one number that a list, or a staleness, is of; anything else as it is."""
    match value:
        case {"versions": [number]} | [number]:
            return number
    return value


def unit_of(manifest: dict[str, Any], axis: str) -> str:
    """Return the unit of the numbers on an axis: "B", "s", "B/s" or "" for none."""
    values = (in_base_unit(field_at(cell["fields"], axis)) for cell in manifest["cells"])
    return next((quantity[1] for quantity in values if quantity is not None), "")
