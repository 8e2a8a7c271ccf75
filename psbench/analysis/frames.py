"""Rows as tidy frames: every row carries the cell it belongs to, and only last attempts count."""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from psbench.analysis.cells import field_at, is_virtual, logical_hosts
from psbench.analysis.measures import (
    busiest_bytes_per_step,
    derive_steps,
    peak_memory,
    step_measures,
    synchronisation,
    target_measures,
)
from psbench.analysis.scaling import SCALING, with_scaling
from psbench.analysis.server_measures import SERVER_MEASURES, queue_lengths, server_measures
from psbench.analysis.workers import worker_extremes
from psbench.results import EvalRow, EventRow, StepRow, TrialRow, TrialSteps

CELL_COLUMNS = (
    "label",
    "strategy",
    "workers",
    "servers",
    "global_batch",
    "task",
    "engine",
    "transport",
)
_PER_NODE = (
    "bytes_sent",
    "bytes_received",
    "messages_sent",
    "messages_received",
    "node_hosts",
    "peak_memory_bytes",
    "pinned_cores",
    "server_receiving_s",
    "server_applying_s",
    "server_sending_s",
)
_DERIVED = (
    "step_s",
    "sync_s",
    "wait_s",
    "comm_s",
    "exposed_sync_s",
    "exposed_comm_s",
    "exposed_server_update_s",
)
MEASURES = (
    "samples_per_s",
    "samples_per_s_per_host",
    "slowest_worker_samples_per_s",
    "fastest_worker_samples_per_s",
    *SCALING,
    "step_s",
    "step_p95_s",
    "comm_s",
    "exposed_comm_s",
    "busiest_bytes_per_step",
    "worker_peak_memory",
    "server_peak_memory",
    "staleness_mean",
    "staleness_p95",
    "staleness_max",
    "final_loss",
    "final_accuracy",
    "steps_to_target",
    "steps_to_target_bound",
    "samples_to_target",
    "samples_to_target_bound",
    "time_to_target_s",
    "time_to_target_s_bound",
    *SERVER_MEASURES,
)
"""What is known of one trial, beside what was logged: columns of the trials."""

Key = tuple[str, int]
"""(cell id, repeat): what a trial is known by, whatever its attempt."""


def cell_columns(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return, for each cell id in the spec's order, its identifying columns and its axes.

    An axis is a column with its dotted name, where it is not a column already; a value that is no
    scalar is written as JSON.
    """
    axes = varied_axes(manifest)
    return {
        cell["id"]: {name: cell[name] for name in CELL_COLUMNS}
        | {axis: _axis_value(cell["fields"], axis) for axis in axes}
        for cell in manifest["cells"]
    }


def varied_axes(manifest: dict[str, Any]) -> list[str]:
    """Return the axes of the spec that are no column of every frame already."""
    return [axis for axis in manifest["axes"] if axis not in CELL_COLUMNS]


def variant_axes(manifest: dict[str, Any]) -> list[str]:
    """Return the axes by which cells of one strategy and as many workers are told apart."""
    shown = ("strategy", "workers")
    return [axis for axis in manifest["axes"] if axis.partition(".")[0] not in shown]


def last_attempts(rows: Iterable[TrialRow | EvalRow | TrialSteps]) -> dict[Key, int]:
    """Return the number of the last attempt at each trial that left any row."""
    last: dict[Key, int] = {}
    for row in rows:
        key = (row.cell_id, row.repeat)
        last[key] = max(row.attempt, last.get(key, row.attempt))
    return last


def steps_frame(
    manifest: dict[str, Any], trials: Iterable[TrialRow], steps: Iterable[TrialSteps]
) -> pd.DataFrame:
    """Return one row a rank and step of `steps`, with the derived durations of `derive_steps`."""
    cells = {cell["id"]: cell for cell in manifest["cells"]}
    identities = _identities(manifest, reserved=StepRow._fields)
    one_clock = {(row.cell_id, row.repeat): row.one_clock for row in trials}
    columns = [*next(iter(identities.values())), "repeat", "attempt", *StepRow._fields, *_DERIVED]
    frames = []
    for trial in steps:
        if not trial.table.num_rows:
            continue  # it failed before its first step: nothing to tell the types of columns by
        cell = cells[trial.cell_id]
        derived = derive_steps(
            _rows(trial),
            kind=synchronisation(cell["fields"]["strategy"]),
            workers=cell["workers"],
            one_clock=one_clock.get((trial.cell_id, trial.repeat), False),
        )
        own = identities[trial.cell_id] | {"repeat": trial.repeat, "attempt": trial.attempt}
        for name, value in own.items():
            derived[name] = [value] * len(derived)
        frames.append(derived[columns])
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def evals_frame(manifest: dict[str, Any], evals: Iterable[EvalRow]) -> pd.DataFrame:
    """Return one row an evaluation, in the order of cells, repeats and steps."""
    names = [field.name for field in fields(EvalRow)]
    identities = _identities(manifest, reserved=names[1:])
    order = list(identities)
    ordered = sorted(evals, key=lambda row: (order.index(row.cell_id), row.repeat, row.step))
    records = [identities[row.cell_id] | asdict(row) for row in ordered]
    columns = [*next(iter(identities.values())), *names[1:]]
    return pd.DataFrame(records, columns=columns).astype({"loss": float, "accuracy": float})


def queue_frame(
    manifest: dict[str, Any], trials: Iterable[TrialRow], steps: pd.DataFrame
) -> pd.DataFrame:
    """Return how many requests lay before the servers of each trial, a row a change; trials whose
    nodes have clocks of their own are left out."""
    identities = _identities(manifest, reserved=("seconds", "length"))
    steps_of = _by_trial(steps)
    columns = [*next(iter(identities.values())), "repeat", "seconds", "length"]
    frames = []
    for row in trials:
        own_steps = steps_of((row.cell_id, row.repeat))
        if row.one_clock and len(own_steps):
            lengths = queue_lengths(own_steps)
            own = identities[row.cell_id] | {"repeat": row.repeat}
            frames.append(lengths.assign(**{n: [v] * len(lengths) for n, v in own.items()}))
    frames = [frame[columns] for frame in frames if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def events_frame(events: Iterable[EventRow]) -> pd.DataFrame:
    """Return one row an event, in the order in which they happened."""
    names = [field.name for field in fields(EventRow)]
    frame = pd.DataFrame([asdict(row) for row in events], columns=names)
    return frame.astype({"repeat": "Int64"})


def trials_frame(
    manifest: dict[str, Any],
    trials: Iterable[TrialRow],
    steps: pd.DataFrame,
    evals: pd.DataFrame,
) -> pd.DataFrame:
    """Return one row a trial that has ended, with its measures, in the order of cells and repeats.

    `transport` is the realised one. `steps` and `evals` are the frames of the same run. A measure
    that a trial lacks is NaN.
    """
    cells = cell_columns(manifest)
    order = list(cells)
    targets = {cell["id"]: cell["target"] for cell in manifest["cells"]}
    hosts = {cell["id"]: logical_hosts(cell) for cell in manifest["cells"]}
    virtual = {cell["id"]: is_virtual(cell) for cell in manifest["cells"]}
    steps_of, evals_of = _by_trial(steps), _by_trial(evals)
    own_columns = [field.name for field in fields(TrialRow) if field.name not in _PER_NODE]
    records = []
    for row in sorted(trials, key=lambda row: (order.index(row.cell_id), row.repeat)):
        key = (row.cell_id, row.repeat)
        own_evals, own_steps = evals_of(key), steps_of(key)
        timed = own_steps[~own_steps["warmup"].astype(bool)]
        measures = (
            _trial_measures(row, own_evals, hosts[row.cell_id])
            | peak_memory(row.peak_memory_bytes, workers=cells[row.cell_id]["workers"])
            | step_measures(timed)
            | server_measures(row, timed, virtual=virtual[row.cell_id])
            | worker_extremes(timed)
            | target_measures(
                own_evals,
                targets[row.cell_id],
                trained={"step": row.steps, "samples": row.samples, "seconds": row.seconds},
            )
        )
        assert {*measures, *SCALING} == set(MEASURES), (
            "a measure has no column, or a column no measure"
        )
        own = {name: getattr(row, name) for name in own_columns}
        records.append(cells[row.cell_id] | own | measures)
    names = ["cell_id", *CELL_COLUMNS, *varied_axes(manifest), *own_columns, *MEASURES]
    return with_scaling(manifest, pd.DataFrame(records, columns=list(dict.fromkeys(names))))


def _trial_measures(row: TrialRow, evals: pd.DataFrame, hosts: int) -> dict[str, float]:
    """Return what a trial's own row and `evals` tell; 0 `hosts`, the logical ones, where the spec
    leaves it to the machines."""
    rate = row.samples / row.seconds if row.samples and row.seconds > 0 else math.nan
    return {
        "samples_per_s": rate,
        "samples_per_s_per_host": rate / (hosts or len(set(row.node_hosts)) or math.nan),
        "busiest_bytes_per_step": busiest_bytes_per_step(
            row.bytes_sent, row.bytes_received, row.steps
        ),
        "final_loss": float(evals["loss"].iloc[-1]) if len(evals) else math.nan,
        "final_accuracy": float(evals["accuracy"].iloc[-1]) if len(evals) else math.nan,
    }


def _rows(trial: TrialSteps) -> pd.DataFrame:
    """Return a trial's step rows. Where all of a column of readings are empty they are one object:
    with thousands of ranks they would else take more memory than all that was measured."""
    table = trial.table
    readings = [name for name, default in StepRow._field_defaults.items() if default == ()]
    empty = [name for name in readings if not _num_values(table.column(name))]
    nothing = {name: [()] * table.num_rows for name in empty}
    return table.drop_columns(empty).to_pandas().assign(**nothing)


def _num_values(lists: Any) -> int:
    """Return how many values are in all lists of an Arrow column."""
    return sum(len(chunk.flatten()) for chunk in lists.chunks)


def _by_trial(frame: pd.DataFrame) -> Callable[[Key], pd.DataFrame]:
    """Return what takes the rows of a trial, which lie together, out of a frame."""
    places = frame.groupby(["cell_id", "repeat"]).indices

    def rows(key: Key) -> pd.DataFrame:
        own = places.get(key, ())
        return frame.iloc[own[0] : own[-1] + 1] if len(own) else frame.iloc[:0]

    return rows


def _identities(manifest: dict[str, Any], reserved: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the columns by which a row of steps or evaluations is told from those of other cells.

    An axis whose name the row has for itself (`reserved`) gives way.
    """
    engine = [axis for axis in manifest["axes"] if axis == "engine"]
    names = ["strategy", "workers", *engine, *varied_axes(manifest)]
    names = [name for name in names if name not in set(reserved)]
    return {
        cell_id: {"cell_id": cell_id} | {name: columns[name] for name in names}
        for cell_id, columns in cell_columns(manifest).items()
    }


def _axis_value(cell_fields: dict[str, Any], axis: str) -> Any:
    value = field_at(cell_fields, axis)
    return json.dumps(value) if isinstance(value, dict | list) else value
