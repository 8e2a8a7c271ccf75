"""Cells and rows with figures that are easy to reckon with."""

import hashlib
import math
from typing import Any

from psbench.results import EvalRow, StepRow, TrialRow

STRATEGIES = {
    "ring": {"kind": "all_reduce", "algorithm": "ring"},
    "tree": {"kind": "all_reduce", "algorithm": "tree"},
    "native": {"kind": "native"},
    "ps-sync": {"kind": "parameter_server", "consistency": "synchronous"},
    "ps-async": {"kind": "parameter_server", "consistency": "asynchronous"},
    "none": {"kind": "none"},
}


def cell(strategy: str = "ring", workers: int = 2, **changes: Any) -> dict[str, Any]:
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


def step_row(rank: int = 0, step: int = 1, **changes: Any) -> StepRow:
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


def trial_row(cell_id: str, repeat: int = 0, **changes: Any) -> TrialRow:
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


def eval_row(cell_id: str, repeat: int = 0, step: int = 1, **changes: Any) -> EvalRow:
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
