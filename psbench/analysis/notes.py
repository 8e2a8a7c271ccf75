"""What a reader of the summary must know beside its figures, one line each."""

import math
from collections.abc import Iterator

import numpy as np

from psbench.analysis.cells import is_colocated, live_cells, logical_hosts
from psbench.analysis.reading_notes import MOST_NAMES, how_strategies_read
from psbench.analysis.results import Results
from psbench.analysis.scaling import knows_efficiency, name_of_efficiency
from psbench.analysis.variants import variants
from psbench.results import (
    NOT_PINNED,
    TrialRow,
    crowded,
    few_repeats,
    is_exact,
    unlike_devices,
    unlike_transports,
)
from psbench.units import count, format_seconds, in_base_unit

_PADDING_EXCESS = 1.1
_VARYING = ("jitter", "slow", "stragglers")  # of `compute`: a step is not to take just its seconds


def notes(results: Results) -> list[str]:
    """Return footnotes: what failed, what is missing, and what limits the comparison.

    Among them what the run warned of at its start, each once.
    """
    found = [
        *_unfinished(results),
        *_endings(results),
        *_picked(results),
        *_reading(results),
        *_comparability(results),
        *_shaping(results),
        *results.manifest.get("warnings", []),
        *_unknown_rows(results),
    ]
    return list(dict.fromkeys(found))


def _unfinished(results: Results) -> Iterator[str]:
    num_missing = int(results.summary()["num_unfinished"].sum())
    if num_missing:
        state = results.status or "not finished: it goes on, or was killed"
        trials = "trial has" if num_missing == 1 else "trials have"
        yield f"{num_missing} {trials} not ended (run {state})"


def _endings(results: Results) -> Iterator[str]:
    trials = results.trials
    names = _names(results)
    repeats: dict[tuple[str, str, str | None], list[str]] = {}
    for row in trials[trials["status"] != "ok"].to_dict("records"):
        error = row["error"] if isinstance(row["error"], str) else None
        key = (row["status"], names[row["cell_id"]], error)
        repeats.setdefault(key, []).append(str(row["repeat"]))
    for (status, name, error), own in repeats.items():
        reason = f": {error}" if error else ""
        yield f"{status.replace('_', ' ')}: {name}, repeat {', '.join(own)}{reason}"


def _picked(results: Results) -> Iterator[str]:
    """Yield what `auto` stood for in each cell."""
    names = _names(results)
    for row in results.journal.trials:  # notes() says each once
        for pick, what in ((row.algorithm, ""), (row.chunks, " chunks")):
            if pick is not None:
                yield f"auto took {pick}{what}: {names[row.cell_id]}"


def _reading(results: Results) -> Iterator[str]:
    yield from how_strategies_read(results)
    summary = results.summary()
    if knows_efficiency(summary):
        name = name_of_efficiency(results.manifest)
        yield f"{name}: samples/s over workers times the samples/s of one, of the same strategy"
    if np.isinf(summary["time_to_target_s"]).any():
        yield "> time: the median repeat had not reached the target by then, when it ended"
    some = summary[
        (summary["num_censored"] > 0) & (summary["num_censored"] < summary["num_trials"])
    ]
    names = _names(results)
    for (missed, total), own in some.groupby(["num_censored", "num_trials"], sort=False):
        cells = [names[cell_id] for cell_id in own["cell_id"]]
        more = count(len(cells) - MOST_NAMES, "more cell")
        named = [*cells[:MOST_NAMES], more] if len(cells) > MOST_NAMES else cells
        yield f"target not reached by {missed} of {total}: {'; '.join(named)}"


def _comparability(results: Results) -> Iterator[str]:
    trials, live = results.trials, _live_rows(results)
    few = few_repeats(results.manifest["repeats"])
    if few and not all(is_exact(cell["fields"]) for cell in results.manifest["cells"]):
        yield few
    cores = results.manifest["environment"]["cores"]["available"]
    host = results.manifest["environment"]["host"]  # the one whose cores are known
    busiest = max((row.node_hosts.count(host) for row in live), default=0)
    if cores is not None and busiest > cores:
        yield crowded(busiest, cores)
    if any(len(row.pinned_cores) > 1 and "" in row.pinned_cores for row in live):
        yield NOT_PINNED
    threads = sorted(set(trials["threads"]))
    if len(threads) > 1:
        numbers = ", ".join(map(str, threads))
        yield f"compute threads differ ({numbers}): compare only cells with as many"
    yield from unlike_transports(live, _names(results), axes=results.manifest["axes"])
    devices = unlike_devices(trials["device"][trials["engine"] != "simulated"])
    if devices:
        yield devices
    if "engine" in results.manifest["axes"]:
        yield (
            "live cells were measured, simulated ones are in virtual time: where they differ, the "
            "spec's network and compute are not the machine's"
        )
    if not trials["one_clock"].astype(bool).all():
        yield "some trials ran on several clocks: their wait and communication cannot be told apart"


def _shaping(results: Results) -> Iterator[str]:
    emulated: list[tuple[int, int]] = []
    cells = live_cells(results.manifest)
    for cell in cells:
        hosts, machines = logical_hosts(cell), len(_machines(results, cell["id"]))
        if hosts > machines > 0:
            emulated.append((hosts, machines))
    if emulated:
        hosts, machines = max(emulated)
        where = count(machines, "machine")
        yield f"{hosts} logical hosts emulated on {where}: no network lies between them"
    if any(is_colocated(cell) and logical_hosts(cell) <= 1 for cell in cells):
        yield "placement: colocated changes nothing on one host; set cluster.ranks_per_host"
    yield from _short_padding(results)


def _live_rows(results: Results) -> list[TrialRow]:
    own = {cell["id"] for cell in live_cells(results.manifest)}
    return [row for row in results.journal.trials if row.cell_id in own]


def _machines(results: Results, cell_id: str) -> set[str]:
    own = (row for row in results.journal.trials if row.cell_id == cell_id)
    return {host for row in own for host in row.node_hosts}


def _short_padding(results: Results) -> Iterator[str]:
    steps = results.steps
    timed = steps[~steps["warmup"].astype(bool)]
    medians = timed["compute_s"].groupby(timed["cell_id"]).median()
    longest: dict[float, float] = {}
    for cell in live_cells(results.manifest):
        compute = cell["fields"].get("compute") or {}
        asked = in_base_unit(compute.get("seconds"))
        if asked is None or any(compute.get(name) for name in _VARYING):
            continue
        padding, _ = asked
        measured = medians.get(cell["id"], math.nan)
        if measured > _PADDING_EXCESS * padding:
            longest[padding] = max(measured, longest.get(padding, 0.0))
    for padding, measured in longest.items():
        own, took = format_seconds(padding), format_seconds(measured)
        yield f"compute padding of {own} too short: computing took {took}"


def _names(results: Results) -> dict[str, str]:
    """Return what each cell is called where others are beside it."""
    variant = variants(results.manifest)
    return {
        cell["id"]: f"{cell['strategy']}, {variant[cell['id']]}"
        for cell in results.manifest["cells"]
    }


def _unknown_rows(results: Results) -> Iterator[str]:
    if results.journal.num_unknown:
        yield f"{results.journal.num_unknown} rows of a later psbench were passed over"
