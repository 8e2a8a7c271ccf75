"""One run: a spec's trials, one after the other, into one folder."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from psbench.driver.engines import ENGINES, Engine
from psbench.driver.events import WARNING, event
from psbench.driver.interrupt import Interrupt
from psbench.driver.labels import cell_labels
from psbench.driver.manifest import describe_cell
from psbench.driver.order import interleave
from psbench.driver.progress import Reporter, reporter
from psbench.driver.resume import go_on, is_finished, known_networks, resumed_spec
from psbench.driver.warnings import all_warnings, known_warnings, warnings_before
from psbench.errors import ResultsError, SpecError
from psbench.results import (
    EvalRow,
    RunFolder,
    RunStatus,
    TrialRow,
    build_manifest,
    copy_limit,
    environment,
    has_manifest,
)
from psbench.spec import Cell, Spec, Trial, cell_id, varying_fields
from psbench.units import count


def run(
    spec: Spec | None = None,
    *,
    root: Path = Path("results"),
    out: Path | None = None,
    resume: Path | None = None,
) -> Path:
    """Run the trials of a spec and return the run's folder: `out`, or a new one under `root`.

    With `resume`, go on with the run in that folder: run the trials that have no summary yet.
    `spec` may then be left out where the folder knows its own. If the folder is new or empty the
    run starts there; if the run is finished nothing is done.

    A trial that fails becomes a row; the others go on. Raises ResultsError for a folder that can't
    be had or is another spec's, PlacementError for a cluster that is too small, both before any
    actor starts, and KeyboardInterrupt, with every finished row on disk, after Ctrl-C or SIGTERM.
    """
    if resume is not None:
        if out is not None:
            raise ResultsError("out and resume both name the run's folder; give one of them")
        spec = resumed_spec(resume, spec)
        if is_finished(resume):
            return resume
        _run(spec, RunFolder.resume(resume))
        return resume
    if spec is None:
        raise SpecError("a spec is missing; it can be left out only to go on with a run (resume)")
    folder = RunFolder.create(root, spec.name, out)
    _run(spec, folder)
    return folder.path


def _run(spec: Spec, folder: RunFolder) -> None:
    """Run the trials that `folder` lacks, and leave it finished, or as it was found."""
    cells = spec.cells()
    trials = list(interleave(cells, repeats=spec.repeats, seed=spec.seed))
    left = [trial for trial in trials if (cell_id(trial.cell), trial.repeat) not in folder.ended]
    with (
        folder,
        reporter(len(trials), len(trials) - len(left)) as report,
        Interrupt(lambda: report.say("interrupted: saving what is finished")) as stop,
        contextlib.ExitStack() as stack,
    ):
        some = f"{len(left)} of " if folder.ended else ""
        report.say(f"{spec.name}: {some}{count(len(trials), 'trial')} -> {folder.path}")
        try:
            with stop.at_once():
                engines = _engines(cells, left, folder, stack)
        except BaseException:
            folder.discard()  # nothing was measured, and nothing is to be kept
            raise
        try:
            if engines:
                _begin(spec, folder, list(engines.values()), report)
                labels = cell_labels(cells)
                for trial in left:
                    engine = engines[trial.cell.engine]
                    run_trial(engine, trial, labels[cell_id(trial.cell)], folder, report, stop)
        except BaseException as error:
            status: RunStatus = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            with contextlib.suppress(ResultsError):  # what went wrong first is what to tell
                folder.finish(status, all_warnings(folder.path, cells))
            report.say(f"go on with: psbench run --resume {folder.path}")
            raise
        folder.finish("finished", all_warnings(folder.path, cells))


def _engines(
    cells: Sequence[Cell], left: Sequence[Trial], folder: RunFolder, stack: contextlib.ExitStack
) -> dict[str, Engine]:
    """Return the engines that the trials left need, by name, entered."""
    networks = known_networks(folder.path)
    engines: dict[str, Engine] = {}
    for name in dict.fromkeys(trial.cell.engine for trial in left):
        own = [cell for cell in cells if cell.engine == name]
        engines[name] = stack.enter_context(ENGINES[name](own, networks))
        asked = [(trial, *_attempt(trial, folder)) for trial in left if trial.cell.engine == name]
        engines[name].expect(asked)
    return engines


def _attempt(trial: Trial, folder: RunFolder) -> tuple[str, int]:
    """Return a trial's cell id, and the number of the next attempt at it."""
    identity = cell_id(trial.cell)
    return identity, folder.next_attempt(identity, trial.repeat)


def run_trial(
    engine: Engine,
    trial: Trial,
    label: str,
    folder: RunFolder,
    report: Reporter,
    stop: Callable[[], bool],
) -> None:
    """Run one trial and put its rows where they belong."""
    if stop():
        raise KeyboardInterrupt
    identity, attempt = _attempt(trial, folder)
    folder.append(event("trial_started", label, cell_id=identity, repeat=trial.repeat))
    report.begin(trial, label)
    steps_of: dict[int, int] = dict.fromkeys(range(trial.cell.workers), 0)
    outputs = engine.run(trial, cell_id=identity, attempt=attempt, stop=stop)
    with folder.step_stream(identity, trial.repeat, attempt) as steps:
        for output in outputs:
            if isinstance(output, EvalRow):
                folder.append(output)
            elif isinstance(output, TrialRow):
                folder.append(output)
                report.end(output)
            else:
                steps.write(output)
                for row in output:
                    steps_of[row.rank] = row.step + 1
                report.step(min(steps_of.values()))


def _begin(spec: Spec, folder: RunFolder, engines: Sequence[Engine], report: Reporter) -> None:
    """Put on disk what is to be there before a trial, and tell what limits the results."""
    cells = spec.cells()
    told = [engine.clock_uncertainty_s for engine in engines]
    measured = [seconds for seconds in told if seconds is not None]
    where = environment(
        threads=max(engine.threads for engine in engines),
        clock_uncertainty_s=max(measured) if len(measured) == len(told) else None,
    )
    own = [warning for engine in engines for warning in engine.warnings]
    warnings = [*folder.warnings, *own, *warnings_before(spec)]
    if folder.resumed:
        warnings += go_on(folder, where)
    if not has_manifest(folder.path):
        moves_bytes = any(cell.engine == "live" for cell in cells)
        limit = {"copy_limit": asdict(copy_limit())} if moves_bytes else {}
        labels = cell_labels(cells)
        folder.write_manifest(
            build_manifest(
                spec_document=spec.document(),
                axes=list(varying_fields(cells)),
                cells=[describe_cell(cell, labels[cell_id(cell)]) for cell in cells],
                environment=where | limit,
                warnings=warnings,
                networks={
                    name: network.model_dump(mode="json")
                    for engine in engines
                    for name, network in engine.networks.items()
                },
            )
        )
    known = known_warnings(folder.path)
    for warning in warnings:
        report.say(f"warning: {warning}")
        if warning not in known:
            folder.append(event(WARNING, warning))
