"""One run: a spec's trials, one after the other, into one folder."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from psbench.driver.engines import ENGINES, Engine
from psbench.driver.interrupt import Interrupt
from psbench.driver.manifest import describe_cell
from psbench.driver.order import interleave
from psbench.driver.progress import Reporter, reporter
from psbench.results import (
    EvalRow,
    EventRow,
    RunFolder,
    RunStatus,
    TrialRow,
    build_manifest,
    environment,
)
from psbench.spec import Cell, Spec, Trial, cell_id, varying_fields
from psbench.units import count

FIRST_ATTEMPT = 1


def run(spec: Spec, *, root: Path = Path("results"), out: Path | None = None) -> Path:
    """Run all trials of a spec and return the run's folder: `out`, or a new one under `root`.

    A trial that fails becomes a row; the others go on. Raises ResultsError for a folder that can't
    be had, PlacementError for a cluster that is too small, both before any actor starts, and
    KeyboardInterrupt, with every finished row on disk, after Ctrl-C or SIGTERM.
    """
    cells = spec.cells()
    num_trials = len(cells) * spec.repeats
    engine = ENGINES[cells[0].engine](cells)
    with (
        RunFolder.create(root, spec.name, out) as folder,
        reporter(num_trials) as report,
        Interrupt(lambda: report.say("interrupted: saving what is finished")) as stop,
    ):
        report.say(f"{spec.name}: {count(num_trials, 'trial')} -> {folder.path}")
        status: RunStatus = "failed"
        entered = False
        try:
            with engine:
                entered = True
                stop.arm()  # Ray takes SIGTERM for itself
                for warning in engine.warnings:
                    report.say(f"warning: {warning}")
                _write_manifest(folder, spec, cells, engine)
                for trial in interleave(cells, repeats=spec.repeats, seed=spec.seed):
                    run_trial(engine, trial, folder, report, stop)
            status = "finished"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            if entered:
                folder.finish(status)
            else:
                folder.discard()  # nothing was measured, and nothing is to be kept
    return folder.path


def run_trial(
    engine: Engine,
    trial: Trial,
    folder: RunFolder,
    report: Reporter,
    stop: Callable[[], bool],
) -> None:
    """Run one trial and put its rows where they belong."""
    if stop():
        raise KeyboardInterrupt
    identity = cell_id(trial.cell)
    folder.append(_event("trial_started", trial.cell.label, identity, trial.repeat))
    report.begin(trial)
    steps_of: dict[int, int] = dict.fromkeys(range(trial.cell.workers), 0)
    outputs = engine.run(trial, cell_id=identity, attempt=FIRST_ATTEMPT, stop=stop)
    with folder.step_stream(identity, trial.repeat, FIRST_ATTEMPT) as steps:
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


def _write_manifest(folder: RunFolder, spec: Spec, cells: tuple[Cell, ...], engine: Engine) -> None:
    folder.write_manifest(
        build_manifest(
            spec_document=spec.document(),
            axes=list(varying_fields(cells)),
            cells=[describe_cell(cell) for cell in cells],
            environment=environment(
                threads=engine.threads, clock_uncertainty_s=engine.clock_uncertainty_s
            ),
        )
    )


def _event(kind: str, message: str, identity: str, repeat: int) -> EventRow:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return EventRow(time=now, kind=kind, message=message, cell_id=identity, repeat=repeat)
