"""What a step took with each strategy, from the runs of spec.yaml and hosts.yaml."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

import psbench
from psbench.network import PROFILES
from psbench.units import parse_seconds

NAMES = {"halving_doubling": "halving-doubling", "double_tree": "double tree"}
ONE_EACH = "a server a worker"
RAILS = "rails, 8 a host"
RING_ON_HOSTS = "ring, 8 a host"
OVERLAPPED = ", overlapped"
SERVERS = ("1 server", "8 servers", "64 servers", ONE_EACH)
ALL_REDUCES = ("ring", "tree", "double tree", "halving-doubling")
"""Those of workers that have a host each."""
ITEM_BYTES = 4  # float32


def step_times(*runs: str) -> pd.DataFrame:
    """Return a row for each trial of `runs`, all of which must have ended well: `model, network,
    strategy` (as NAMES and the like), `workers, servers, ranks_per_host, chunks`, the bytes of its
    gradients, and the seconds of computing and of a whole step, `compute_s` and `step_s`.

    `step_s` is the mean of timed steps. All readings of ranks are left unread: they are hundreds of
    thousands.
    """
    records = []
    for run in runs:
        results = psbench.load(run)
        if results.status != "finished":
            raise SystemExit(f"{run} is not finished: psbench run --resume {run}")
        cells = {cell["id"]: cell for cell in results.manifest["cells"]}
        for trial in results.journal.trials:
            if trial.status != "ok":
                raise SystemExit(f"{run}: {cells[trial.cell_id]['label']}: {trial.error}")
            cell = cells[trial.cell_id]
            timed = trial.steps - cell["warmup"]
            records.append(
                _identity(cell) | {"chunks": trial.chunks, "step_s": trial.seconds / timed}
            )
    return pd.DataFrame(records)


def _identity(cell: Mapping[str, Any]) -> dict[str, Any]:
    fields = cell["fields"]
    model = fields["task"]["profile"]
    return {
        "model": model,
        "network": fields["network"]["preset"],
        "strategy": _name(fields),
        "workers": cell["workers"],
        "servers": cell["servers"],
        "ranks_per_host": (fields["cluster"] or {}).get("ranks_per_host") or 1,
        "nbytes": PROFILES[model].parameters * ITEM_BYTES,
        "compute_s": parse_seconds(fields["compute"]["seconds"]),
    }


def _name(fields: Mapping[str, Any]) -> str:
    strategy = fields["strategy"]
    if strategy["kind"] == "parameter_server":
        servers = strategy["servers"] or 1
        if servers == "workers":
            return ONE_EACH
        return "1 server" if servers == 1 else f"{servers} servers"
    if fields["cluster"]:
        return RING_ON_HOSTS if strategy["algorithm"] == "ring" else RAILS
    name = NAMES.get(strategy["algorithm"], strategy["algorithm"])
    return name + OVERLAPPED if strategy["overlap"] else name


def efficiencies(times: pd.DataFrame) -> pd.DataFrame:
    """Return the samples/s of one model on one network, in per cent of what as many workers would
    make that need not communicate: a column a strategy, a row a number of workers."""
    shares = times.assign(share=100 * times["compute_s"] / times["step_s"])
    return shares.pivot(index="workers", columns="strategy", values="share")
