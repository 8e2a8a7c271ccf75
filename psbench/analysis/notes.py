"""What a reader of the summary must know beside its figures, one line each."""

from collections.abc import Iterator

import numpy as np

from psbench.analysis.measures import synchronisation
from psbench.analysis.results import Results
from psbench.units import count

_FEW_REPEATS = 3


def notes(results: Results) -> list[str]:
    """Return footnotes: what failed, what is missing, and what limits the comparison."""
    return [
        *_unfinished(results),
        *_endings(results),
        *_reading(results),
        *_comparability(results),
        *_unknown_rows(results),
    ]


def _unfinished(results: Results) -> Iterator[str]:
    num_missing = int(results.summary()["num_unfinished"].sum())
    if num_missing:
        state = results.status or "not finished: it goes on, or was killed"
        trials = "trial has" if num_missing == 1 else "trials have"
        yield f"{num_missing} {trials} not ended (run {state})"


def _endings(results: Results) -> Iterator[str]:
    trials = results.trials
    repeats: dict[tuple[str, str, str | None], list[str]] = {}
    for row in trials[trials["status"] != "ok"].to_dict("records"):
        error = row["error"] if isinstance(row["error"], str) else None
        repeats.setdefault((row["status"], row["label"], error), []).append(str(row["repeat"]))
    for (status, label, error), own in repeats.items():
        reason = f": {error}" if error else ""
        yield f"{status.replace('_', ' ')}: {label}, repeat {', '.join(own)}{reason}"


def _reading(results: Results) -> Iterator[str]:
    kinds = {synchronisation(cell["fields"]["strategy"]) for cell in results.manifest["cells"]}
    if "asynchronous" in kinds:
        yield "wait, for asynchronous strategies: the time a push lay in the server's queue"
    summary = results.summary()
    if np.isinf(summary["time_to_target_s"]).any():
        yield "> time: the median repeat had not reached the target by then, when it ended"
    some = summary[
        (summary["num_censored"] > 0) & (summary["num_censored"] < summary["num_trials"])
    ]
    for row in some.to_dict("records"):
        yield f"target not reached by {row['num_censored']} of {row['num_trials']}: {row['label']}"


def _comparability(results: Results) -> Iterator[str]:
    trials = results.trials
    repeats = results.manifest["repeats"]
    if repeats < _FEW_REPEATS:
        few = count(repeats, "repeat")
        yield f"{few}: too few to tell a difference from noise; ask for 3 or more"
    cores = results.manifest["environment"]["cores"]["available"]
    host = results.manifest["environment"]["host"]  # the one whose cores are known
    busiest = max((row.node_hosts.count(host) for row in results.journal.trials), default=0)
    if cores is not None and busiest > cores:
        yield f"up to {busiest} processes on {cores} cores: timings compare but do not scale"
    transports = list(dict.fromkeys(trials["transport"]))
    if len(transports) > 1:
        yield f"transports differ ({', '.join(transports)}): compare only cells of the same one"
    if not trials["one_clock"].astype(bool).all():
        yield "some trials ran on several clocks: their wait and communication cannot be told apart"


def _unknown_rows(results: Results) -> Iterator[str]:
    if results.journal.num_unknown:
        yield f"{results.journal.num_unknown} rows of a later psbench were passed over"
