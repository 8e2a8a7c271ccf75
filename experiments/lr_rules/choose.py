"""The rate at which each rule did best in a sweep, written down as the spec of the final trials.

    python experiments/lr_rules/choose.py SWEEP_RUN

writes final_TASK.yaml beside this file: for each number of workers every rule at the rate that was
best for sync, and at the one that was best for itself. Where a best rate lies at the edge of the
grid it writes nothing: the grid must grow, for all rules alike.
"""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from figures import MEASURES, RULES, SYNC, trial_figures

import psbench

HEAD = """\
# Written by choose.py from a run of sweep_{task}.yaml: with each number of workers every rule at
# the rate that was best for sync, and at the one that was best for itself.
"""
REPEATS, SEED = 5, 0  # another seed than the sweep's
ASYNC = {"kind": "parameter_server", "consistency": "asynchronous"}


def main() -> None:
    results = psbench.load(sys.argv[1])
    rates = best_rates(trial_figures(results))
    sweep = results.manifest["spec"]
    task = sweep["task"]["model"]
    own = {"name": f"lr-rules-{task}", "strategy": ASYNC, "matrix": {"include": entries(rates)}}
    spec = {**sweep, **own, "repeats": REPEATS, "seed": SEED}
    text = yaml.safe_dump(spec, sort_keys=False, default_flow_style=None, width=100)
    path = Path(__file__).with_name(f"final_{task}.yaml")
    path.write_text(HEAD.format(task=task) + text)
    print(path)


def best_rates(trials: pd.DataFrame) -> dict[tuple[int, str], float]:
    """Return the best rate by (workers, rule): of the best mean over repeats; the least of equals.

    Ends the program where one lies at the edge of the grid.
    """
    sign = MEASURES[trials["task"].iloc[0]].sign
    means = sign * trials.groupby(["workers", "rule", "lr"], sort=True)["figure"].mean()
    tops = means.groupby(["workers", "rule"]).idxmax()
    best = {(workers, rule): lr for workers, rule, lr in sorted(tops, key=_by_workers_and_rule)}
    edges = {trials["lr"].min(), trials["lr"].max()}
    at_edge = [
        f"{rule} with {workers}: {lr}" for (workers, rule), lr in best.items() if lr in edges
    ]
    if at_edge:
        sys.exit(f"best at the edge of the grid, so let it grow: {'; '.join(at_edge)}")
    return best


def _by_workers_and_rule(cell: tuple[int, str, float]) -> tuple[int, int]:
    workers, rule, _ = cell
    return workers, (SYNC, *RULES).index(rule)


def entries(rates: dict[tuple[int, str], float]) -> list[dict[str, Any]]:
    """Return the cells, as the spec's matrix includes them: equal ones once."""
    cells = []
    for (workers, rule), own in rates.items():
        strategy = {"strategy": "ps-sync"} if rule == SYNC else {"strategy.lr_rule": rule}
        for lr in dict.fromkeys([rates[workers, SYNC], own]):
            cells.append({"workers": workers, **strategy, "task.optimizer.lr": lr})
    return cells


if __name__ == "__main__":
    main()
