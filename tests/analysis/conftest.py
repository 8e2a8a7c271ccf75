"""Cells and rows with figures that are easy to reckon with, and runs made of them.

Run folders are built through the real writer.
"""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psbench.results import EvalRow, RunFolder, StepRow, TrialRow, build_manifest, environment

STRATEGIES = {
    "ring": {"kind": "all_reduce", "algorithm": "ring"},
    "tree": {"kind": "all_reduce", "algorithm": "tree"},
    "native": {"kind": "native"},
    "ddp": {"kind": "ddp"},
    "ps-sync": {"kind": "parameter_server", "consistency": "synchronous"},
    "ps-async": {"kind": "parameter_server", "consistency": "asynchronous"},
    "none": {"kind": "none"},
    "bare": {"kind": "bare"},
}


def make_cell(strategy: str = "ring", workers: int = 2, **changes: Any) -> dict[str, Any]:
    """Return a manifest's cell; its id is made of its label. `lr` is put into its fields."""
    lr = changes.pop("lr", 0.1)
    plural = "" if workers == 1 else "s"
    label = f"{strategy}, {workers} worker{plural}"
    return {
        "id": hashlib.sha256(f"{label}, lr {lr}".encode()).hexdigest(),
        "label": label,
        "strategy": strategy,
        "workers": workers,
        "servers": int(strategy.startswith("ps")),
        "global_batch": 8 * workers,
        "task": "digits_cnn",
        "transport": "auto",
        "engine": "live",
        "steps": 4,
        "warmup": 1,
        "target": {"accuracy": 0.9},
        "fields": {
            "strategy": STRATEGIES[strategy],
            "workers": workers,
            "task": {"model": "digits_cnn", "optimizer": {"kind": "sgd", "lr": lr}},
        },
    } | changes


def make_step_row(rank: int = 0, step: int = 1, **changes: Any) -> StepRow:
    """Return a step of 10 s: compute 4, synchronisation 4 (from 4 to 8), update 1, other 1."""
    start = 100.0 * step
    row = StepRow(
        rank=rank,
        step=step,
        samples=8,
        warmup=step == 0,
        loss=0.5,
        begin_s=start,
        compute_s=4.0,
        enter_s=start + 4.0,
        exit_s=start + 8.0,
        update_s=1.0,
        server_update_s=0.0,
        queue_s=math.nan,
        end_s=start + 10.0,
        pulled_version=-1,
        version=-1,
        staleness=-1,
        bytes_sent=100,
        bytes_received=100,
        messages_sent=2,
        messages_received=2,
    )
    return row._replace(**changes)


def make_trial_row(cell_id: str, repeat: int = 0, **changes: Any) -> TrialRow:
    """Return a trial of 4 steps, 3 of them timed: 48 samples in 6 s, 2 nodes."""
    fields: dict[str, Any] = {
        "cell_id": cell_id,
        "repeat": repeat,
        "attempt": 1,
        "status": "ok",
        "error": None,
        "transport": "gloo",
        "steps": 4,
        "samples": 48,
        "seconds": 6.0,
        "pushes_sent": None,
        "pushes_acknowledged": None,
        "pushes_applied": None,
        "bytes_sent": (400, 400),
        "bytes_received": (400, 400),
        "messages_sent": (8, 8),
        "messages_received": (8, 8),
        "node_hosts": ("host", "host"),
        "one_clock": True,
        "threads": 1,
    }
    return TrialRow(**fields | changes)


def make_eval_row(cell_id: str, repeat: int = 0, step: int = 1, **changes: Any) -> EvalRow:
    """Return an evaluation after `step` steps of 16 samples and 2 s."""
    fields: dict[str, Any] = {
        "cell_id": cell_id,
        "repeat": repeat,
        "attempt": 1,
        "step": step,
        "samples": 16 * step,
        "seconds": 2.0 * step,
        "loss": 1.0 / (step + 1),
        "accuracy": 0.5,
    }
    return EvalRow(**fields | changes)


@pytest.fixture
def strategies() -> dict[str, dict[str, str]]:
    """Return each strategy's field by its label."""
    return STRATEGIES


@pytest.fixture
def cell() -> Callable[..., Any]:
    return make_cell


@pytest.fixture
def step_row() -> Callable[..., Any]:
    return make_step_row


@pytest.fixture
def trial_row() -> Callable[..., Any]:
    return make_trial_row


@pytest.fixture
def eval_row() -> Callable[..., Any]:
    return make_eval_row


Writer = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> Writer:
    """Return a function that writes a run folder and returns its path."""

    def write(
        cells: list[dict[str, Any]],
        rows: list[TrialRow | EvalRow] = [],  # noqa: B006 (only read)
        *,
        steps: dict[tuple[str, int], list[StepRow]] | None = None,
        axes: tuple[str, ...] = ("strategy", "workers"),
        repeats: int = 1,
        status: str | None = "finished",
        out: Path | None = None,
        cores: int = 64,
    ) -> Path:
        where = environment() | {"cores": {"count": cores, "available": cores}}
        spec = {"name": "quickstart", "repeats": repeats, "seed": 0}
        manifest = build_manifest(
            spec_document=spec, axes=list(axes), cells=cells, environment=where
        )
        with RunFolder.create(tmp_path, "quickstart", out) as run:
            run.write_manifest(manifest)
            for row in rows:
                run.append(row)
            for (cell_id, repeat), step_rows in (steps or {}).items():
                with run.step_stream(cell_id, repeat, 1) as stream:
                    stream.write(step_rows)
            if status is not None:
                run.finish(status)
        return run.path

    return write
