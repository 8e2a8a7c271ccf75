"""One trial in virtual time, from its cell to its rows."""

import time
from collections.abc import Iterator
from typing import Any

from psbench.errors import PsbenchError, TrialTimeout
from psbench.network import Topology
from psbench.results import EngineOutput, EvalRow, StepRow, TrialRow
from psbench.simulated.ending import Ending
from psbench.simulated.peers import Peers
from psbench.simulated.picks import picked
from psbench.simulated.served import served
from psbench.simulated.vectors import SilentVectors, Vectors
from psbench.spec import ITEM_SIZES, Trial, Untrained
from psbench.trial import Pick, Plan, untrained_numel
from psbench.units import format_seconds

TRANSPORT = "simulated"
"""What is said to have carried the bytes."""


def run_trial(trial: Trial, *, cell_id: str, attempt: int) -> Iterator[EngineOutput]:
    """Yield a trial's steps as they finish, then its evaluations, then its one summary.

    A trial that fails ends in a summary that says why. Computes with as many threads as the cell
    asks for, where it computes gradients.
    """
    try:
        yield from _run(trial, cell_id=cell_id, attempt=attempt)
    except PsbenchError as error:
        yield failed_trial(trial, error, cell_id=cell_id, attempt=attempt)


def failed_trial(trial: Trial, error: PsbenchError, *, cell_id: str, attempt: int) -> TrialRow:
    """Return the summary of a trial that could not be finished."""
    ending = Ending(
        status="timed_out" if isinstance(error, TrialTimeout) else "failed",
        steps=0,
        samples=0,
        seconds=0.0,
        checkpoints=(),
        fields={"error": " ".join(str(error).split())},
    )
    return _summary(trial, ending, Pick(), None, cell_id=cell_id, attempt=attempt)


def _run(trial: Trial, *, cell_id: str, attempt: int) -> Iterator[EngineOutput]:
    topology = Plan(trial=trial).topology()
    vectors = vectors_of(trial)
    pick = picked(trial.cell, topology, vectors.numel, vectors.itemsize)
    plan = Plan(trial=trial, pick=pick)
    with vectors.computing():
        simulation = (served if trial.cell.servers else Peers)(plan, vectors, topology)
        yield from _in_time(simulation.run(), trial.cell.timeout)
        ending = simulation.ending()
        for point in ending.checkpoints:
            loss, accuracy = vectors.evaluate(point.parameters)
            yield EvalRow(
                cell_id=cell_id,
                repeat=trial.repeat,
                attempt=attempt,
                step=point.step,
                samples=point.samples,
                seconds=point.seconds,
                loss=loss,
                accuracy=accuracy,
            )
    yield _summary(trial, ending, pick, topology, cell_id=cell_id, attempt=attempt)


def _in_time(rows: Iterator[list[StepRow]], most: float | None) -> Iterator[list[StepRow]]:
    """Yield what comes; raise TrialTimeout where that takes more than so many seconds of ours."""
    begun = time.monotonic()
    for some in rows:
        if some:
            yield some
        if most is not None and time.monotonic() - begun > most:
            raise TrialTimeout(f"the trial took longer than timeout ({format_seconds(most)})")


def vectors_of(trial: Trial) -> Vectors:
    """Return what the ranks and servers of a trial hold."""
    task = trial.cell.task
    if isinstance(task, Untrained):
        return SilentVectors(
            numel=untrained_numel(task),
            itemsize=ITEM_SIZES[task.dtype],
            batch=trial.cell.global_batch,
            workers=trial.cell.workers,
        )
    from psbench.simulated.learning import RealVectors  # imports torch

    return RealVectors(trial)


def _summary(
    trial: Trial,
    ending: Ending,
    pick: Pick,
    topology: Topology | None,
    *,
    cell_id: str,
    attempt: int,
) -> TrialRow:
    nothing: dict[str, Any] = dict.fromkeys(
        ("bytes_sent", "bytes_received", "messages_sent", "messages_received"), ()
    )
    nothing |= dict.fromkeys(("error", "pushes_sent", "pushes_acknowledged", "pushes_applied"))
    return TrialRow(
        cell_id=cell_id,
        repeat=trial.repeat,
        attempt=attempt,
        status=ending.status,
        steps=ending.steps,
        samples=ending.samples,
        seconds=ending.seconds,
        transport=TRANSPORT,
        node_hosts=tuple(f"host {host}" for host in topology.hosts) if topology else (),
        one_clock=True,
        threads=trial.cell.cpus_per_process,
        algorithm=pick.algorithm,
        chunks=pick.chunks,
        **(nothing | ending.fields),
    )
