"""The tables of README.md.

python experiments/scaling/tables.py RUN_OF_SPEC RUN_OF_HOSTS RUN_OF_OVERLAP
"""

import math
import sys

import pandas as pd
from closed_forms import communication
from crossovers import FEWEST, Crossover, crossovers
from figures import (
    ALL_REDUCES,
    OVERLAPPED,
    RAILS,
    RING_ON_HOSTS,
    SERVERS,
    efficiencies,
    step_times,
)

LARGEST = 4096
MANY, FEW = (8, 64, 256, 1024, 4096), (64, 4096)  # columns of tables, workers
NO_FORMULA = ("double tree",)  # its cost in `schedules` is neither exact nor a bound here


def communications(times: pd.DataFrame) -> str:
    """Return a table: by how many milliseconds a step is longer than computing."""
    own = times.assign(ms=1e3 * (times["step_s"] - times["compute_s"]))
    ms = own.set_index(["model", "network", "workers", "strategy"])["ms"].to_dict()
    columns = [(*case, workers) for case in cases(times) for workers in those_of(times, FEW)]
    titles = [f"{model}, {network}, {workers:,}" for model, network, workers in columns]
    lines = [f"| strategy | {' | '.join(titles)} |", "|---" * (1 + len(columns)) + "|"]
    for name in (*ALL_REDUCES, *SERVERS, RAILS, RING_ON_HOSTS):
        figures = " | ".join(digits(ms.get((*column, name), math.nan)) for column in columns)
        lines.append(f"| {name} | {figures} |")
    return "\n".join(lines)


def digits(value: float) -> str:
    """Return three digits, or all before the point; nothing for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:,.0f}"


def agreement(times: pd.DataFrame) -> str:
    """Return a table: for each strategy the least and the greatest of what was simulated over what
    its formula says."""
    lines = ["| strategy | simulated over formula |", "|---|---|"]
    for name in (*ALL_REDUCES, *SERVERS, RAILS):
        own = times[(times["strategy"] == name) & (times["workers"] > times["ranks_per_host"])]
        ratios = [
            (one["step_s"] - one["compute_s"])
            / communication(name, one["workers"], one["nbytes"], one["network"])
            for one in own.to_dict("records")
        ]
        lines.append(f"| {name} | {min(ratios):.5f} to {max(ratios):.5f} |")
    return "\n".join(lines)


def compared(times: pd.DataFrame) -> str:
    """Return a table of crossovers: in the lines of the picture, and by formula."""
    lines = ["| model | network | ahead from then on | picture | formula |", "|---" * 5 + "|"]
    for model, network in cases(times):
        own = times[(times["model"] == model) & (times["network"] == network)]
        nbytes = int(own["nbytes"].iloc[0])
        for one in crossovers(efficiencies(own)):
            said = f"{one.ahead}, of {one.behind}"
            known = one.ahead not in NO_FORMULA
            first = f"{first_ahead(one, nbytes, network):,}" if known else ""
            lines.append(f"| {model} | {network} | {said} | {one.workers:,.0f} | {first} |")
    return "\n".join(lines)


def first_ahead(one: Crossover, nbytes: int, network: str) -> int:
    """Return from how many workers on, up to LARGEST, a strategy is ahead by formula."""
    seconds = {
        name: [communication(name, p, nbytes, network) for p in range(FEWEST, LARGEST + 1)]
        for name in (one.ahead, one.behind)
    }
    pairs = zip(seconds[one.ahead], seconds[one.behind], strict=True)
    not_ahead = [p for p, (ahead, behind) in enumerate(pairs, FEWEST) if ahead >= behind]
    return max(not_ahead, default=FEWEST - 1) + 1


def gains(times: pd.DataFrame) -> str:
    """Return a table: how many times as fast a step is with buckets and overlap as without."""
    steps = times.set_index(["model", "network", "strategy", "workers"])["step_s"].to_dict()
    many = those_of(times[times["strategy"].str.endswith(OVERLAPPED)], MANY)
    lines = [f"| model | network | all-reduce | {' | '.join(f'{one:,}' for one in many)} |"]
    lines.append("|---" * (3 + len(many)) + "|")
    for model, network in cases(times):
        for name in ("ring", "halving-doubling"):
            case = model, network
            ratios = " | ".join(
                f"{steps[*case, name, one] / steps[*case, name + OVERLAPPED, one]:.2f}"
                for one in many
            )
            lines.append(f"| {model} | {network} | {name} | {ratios} |")
    return "\n".join(lines)


def those_of(times: pd.DataFrame, workers: tuple[int, ...]) -> list[int]:
    """Return of some numbers of workers those that were run."""
    return [one for one in workers if (times["workers"] == one).any()]


def cases(times: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the models with their networks."""
    return sorted(set(zip(times["model"], times["network"], strict=True)))


def main() -> None:
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    times = step_times(*sys.argv[1:])
    print(communications(times), compared(times), agreement(times), gains(times), sep="\n\n")


if __name__ == "__main__":
    main()
