"""Going on with a run: which spec it is of, how it had ended, and what has changed since."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from psbench.driver.events import event
from psbench.driver.labels import cell_labels
from psbench.errors import ResultsError, SpecError
from psbench.results import RunFolder, has_manifest, read_journal, read_manifest, read_status
from psbench.spec import Cell, NetworkFile, Spec, cell_fields, cell_id, network_of

_VERSIONS = ("python", "psbench", "ray", "torch")
_MOST_NAMED = 3


def resumed_spec(run: Path, asked: Spec | None) -> Spec:
    """Return the spec of the run in folder `run`; it must be `asked`, where that is given.

    Where there is no manifest (a new folder, or a run that was killed before it wrote one) it is
    whatever is asked. Raises ResultsError, naming what differs or is missing.
    """
    if not has_manifest(run):
        if asked is None:
            raise ResultsError(f"{run} holds no manifest.json to take the spec from; name the SPEC")
        if read_journal(run).trials:
            raise ResultsError(f"{run} is damaged: it has trials, and no manifest.json")
        return asked
    manifest = read_manifest(run)
    try:
        kept = Spec(**manifest["spec"])
    except SpecError as error:
        raise ResultsError(f"{run / 'manifest.json'}: cannot run its spec: {error}") from error
    if [cell_id(cell) for cell in kept.cells()] != [cell["id"] for cell in manifest["cells"]]:
        raise ResultsError(
            f"{run}: psbench {manifest['psbench_version']} gave its cells other ids than this one "
            "does; go on with that version"
        )
    differences = list(_differences(kept, asked)) if asked is not None else []
    if differences:
        raise ResultsError(
            f"{run} holds a run of another spec: {'; '.join(differences)}; leave SPEC out to go on "
            "with that run, or name another folder"
        )
    return kept


def known_networks(run: Path) -> dict[str, NetworkFile]:
    """Return what the run in folder `run` measured for `algorithm: auto`, by transport: it goes on
    with that, so that auto stands for the same in all its trials."""
    documents = read_manifest(run).get("networks", {}) if has_manifest(run) else {}
    try:
        return {name: network_of(document) for name, document in documents.items()}
    except SpecError as error:
        raise ResultsError(f"{run / 'manifest.json'}: networks: {error}") from error


def is_finished(run: Path) -> bool:
    """Say whether all trials of the run in folder `run` have ended, and it knows."""
    return has_manifest(run) and _status(run) == "finished"


def go_on(folder: RunFolder, where: dict[str, Any]) -> list[str]:
    """Journal that the run in `folder` goes on, in the environment `where`.

    Returns a warning where that is another machine or other software than its manifest names.
    """
    ending = _ending(folder.path)
    changes = _changes(read_manifest(folder.path), where) if has_manifest(folder.path) else []
    folder.go_on(event("resumed", "; ".join([ending, *changes])))
    if not changes:
        return []
    return [f"goes on elsewhere than it began: {'; '.join(changes)}; compare its trials with care"]


def _ending(run: Path) -> str:
    when = "" if has_manifest(run) else " before its first trial"
    status = _status(run)
    if status is None:
        return f"the run was killed{when}"
    return f"the run before ended: {status}"


def _changes(manifest: dict[str, Any], where: dict[str, Any]) -> list[str]:
    before = manifest["environment"]
    pairs = {"host": (before.get("host"), where["host"])}
    for name in _VERSIONS:
        pairs[name] = (before.get("versions", {}).get(name), where["versions"][name])
    return [f"{name} {old}, now {new}" for name, (old, new) in pairs.items() if old != new]


def _status(run: Path) -> str | None:
    """Return how a run ended as its status.json has it; None where it has none."""
    try:
        content = read_status(run)
    except ResultsError:
        return "its status.json is damaged"
    return None if content is None else str(content.get("status"))


def _differences(there: Spec, here: Spec) -> Iterator[str]:
    for field in ("name", "repeats", "seed"):
        old, new = getattr(there, field), getattr(here, field)
        if old != new:
            yield f"{field} is {old} there and {new} here"
    old_cells = {cell_id(cell): cell for cell in there.cells()}
    new_cells = {cell_id(cell): cell for cell in here.cells()}
    if old_cells.keys() == new_cells.keys():
        return
    if len(old_cells) == len(new_cells):
        yield from _some(_fields_that_differ(there.cells(), here.cells()))
        return
    for cells, others, where in ((there, new_cells, "there"), (here, old_cells, "here")):
        labels = cell_labels(cells.cells())
        own = [label for identity, label in labels.items() if identity not in others]
        if own:
            yield f"only {where}: {'; '.join(_some(own))}"


def _fields_that_differ(there: tuple[Cell, ...], here: tuple[Cell, ...]) -> list[str]:
    found: dict[str, None] = {}
    for old, new in zip(map(cell_fields, there), map(cell_fields, here), strict=True):
        for path in dict.fromkeys((*old, *new)):
            if old.get(path) != new.get(path):
                found[f"{path} is {old.get(path)} there and {new.get(path)} here"] = None
    return list(found)


def _some(texts: list[str]) -> list[str]:
    rest = len(texts) - _MOST_NAMED
    return texts[:_MOST_NAMED] + ([f"and {rest} more"] if rest > 0 else [])
