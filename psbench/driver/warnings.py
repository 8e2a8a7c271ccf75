"""What limits a run's results, one line each: for its manifest, and for its status at the end."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from psbench.driver.events import WARNING
from psbench.driver.labels import cell_labels
from psbench.results import (
    EvalRow,
    Journal,
    TrialRow,
    TrialStatus,
    few_repeats,
    has_manifest,
    is_exact,
    read_journal,
    read_manifest,
    unlike_devices,
    unlike_transports,
)
from psbench.spec import Cell, Spec, Target, cell_id, varying_fields
from psbench.units import count

_BAD: dict[TrialStatus, str] = {
    "failed": "failed",
    "timed_out": "timed out",
    "diverged": "diverged",
}


def warnings_before(spec: Spec) -> list[str]:
    """Return what a spec alone tells."""
    cells = spec.cells()
    exact = all(is_exact(cell.model_dump(mode="json", by_alias=True)) for cell in cells)
    few = None if exact else few_repeats(spec.repeats)
    devices = unlike_devices(cell.worker_device for cell in _live(cells))
    return [caveat for caveat in (few, devices) if caveat]


def known_warnings(run: Path) -> list[str]:
    """Return what the manifest of the run in folder `run` warns of."""
    return list(read_manifest(run).get("warnings", [])) if has_manifest(run) else []


def all_warnings(run: Path, cells: Sequence[Cell]) -> list[str]:
    """Return what the run in folder `run` warned of so far, and what its trials add."""
    journal = read_journal(run)
    journalled = [event.message for event in journal.events if event.kind == WARNING]
    return list(dict.fromkeys([*known_warnings(run), *journalled, *_endings(cells, journal)]))


def _endings(cells: Sequence[Cell], journal: Journal) -> list[str]:
    """Return how many trials did not end well, which targets were not reached, and what went by
    different transports."""
    endings = Counter(row.status for row in journal.trials)
    bad = [
        f"{count(endings[status], 'trial')} {words}"
        for status, words in _BAD.items()
        if endings[status]
    ]
    labels = cell_labels(cells)
    return [
        *bad,
        *_missed_targets(cells, journal, labels),
        *unlike_transports(_of(_live(cells), journal), labels, axes=varying_fields(cells)),
    ]


def _live(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose bytes are moved, and by processes."""
    return [cell for cell in cells if cell.engine == "live"]


def _of(cells: Sequence[Cell], journal: Journal) -> list[TrialRow]:
    own = {cell_id(cell) for cell in cells}
    return [row for row in journal.trials if row.cell_id in own]


def _missed_targets(
    cells: Sequence[Cell], journal: Journal, labels: dict[str, str]
) -> Iterator[str]:
    targets = {cell_id(cell): cell.target for cell in cells}
    reached = {_key(row) for row in journal.evals if _reaches(row, targets.get(row.cell_id))}
    for identity, target in targets.items():
        if target is None:
            continue
        trials = [row for row in journal.trials if row.cell_id == identity]
        # one that failed has not been seen to miss it
        missed = [row for row in trials if row.status != "failed" and _key(row) not in reached]
        if missed:
            ((metric, goal),) = target.model_dump(exclude_none=True).items()
            of = f"{len(missed)} of {count(len(trials), 'trial')}"
            yield f"target {metric} {goal:g} not reached by {of}: {labels[identity]}"


def _key(row: TrialRow | EvalRow) -> tuple[str, int, int]:
    return row.cell_id, row.repeat, row.attempt


def _reaches(row: EvalRow, target: Target | None) -> bool:
    if target is None:
        return False
    if target.accuracy is not None:
        return row.accuracy is not None and row.accuracy >= target.accuracy
    assert target.loss is not None
    return row.loss <= target.loss
