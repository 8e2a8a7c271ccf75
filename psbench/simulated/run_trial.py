"""One trial in virtual time, from its cell to its rows."""

from collections.abc import Iterator
from typing import Any

from psbench.errors import PsbenchError
from psbench.network import Topology
from psbench.results import EngineOutput, EvalRow, TrialRow
from psbench.simulated.ending import Ending
from psbench.simulated.peers import Peers
from psbench.simulated.picks import picked
from psbench.simulated.served import Served
from psbench.simulated.vectors import SilentVectors, Vectors
from psbench.spec import ITEM_SIZES, Trial, Untrained
from psbench.trial import Pick, Plan, untrained_numel

TRANSPORT = "simulated"
"""What is said to have carried the bytes."""


def run_trial(trial: Trial, *, cell_id: str, attempt: int) -> Iterator[EngineOutput]:
    """Yield a trial's steps as they finish, then its evaluations, then its one summary.

    A trial that fails ends in a summary that says why. Computes with as many threads as the cell
    asks for, where it computes gradients.
    """
    identity: dict[str, Any] = {"cell_id": cell_id, "repeat": trial.repeat, "attempt": attempt}
    pick = Pick()
    topology: Topology | None = None
    try:
        topology = Plan(trial=trial).topology()
        vectors = vectors_of(trial)
        with vectors.computing():
            pick = picked(trial.cell, topology, vectors.numel, vectors.itemsize)
            plan = Plan(trial=trial, pick=pick)
            simulation = (Served if trial.cell.servers else Peers)(plan, vectors, topology)
            yield from simulation.run()
            ending = simulation.ending()
            for point in ending.checkpoints:
                loss, accuracy = vectors.evaluate(point.parameters)
                yield EvalRow(
                    **identity,
                    step=point.step,
                    samples=point.samples,
                    seconds=point.seconds,
                    loss=loss,
                    accuracy=accuracy,
                )
    except PsbenchError as error:
        text = " ".join(str(error).split())
        failed = Ending(
            status="failed", steps=0, samples=0, seconds=0.0, checkpoints=(), fields={"error": text}
        )
        yield _summary(trial, identity, failed, pick, topology)
        return
    yield _summary(trial, identity, ending, pick, topology)


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
    identity: dict[str, Any],
    ending: Ending,
    pick: Pick,
    topology: Topology | None,
) -> TrialRow:
    nothing: dict[str, Any] = dict.fromkeys(
        ("bytes_sent", "bytes_received", "messages_sent", "messages_received"), ()
    )
    pushes = dict.fromkeys(("pushes_sent", "pushes_acknowledged", "pushes_applied"))
    return TrialRow(
        **{
            **identity,
            **nothing,
            **pushes,
            "error": None,
            "status": ending.status,
            "steps": ending.steps,
            "samples": ending.samples,
            "seconds": ending.seconds,
            "transport": TRANSPORT,
            "node_hosts": tuple(f"host {host}" for host in topology.hosts) if topology else (),
            "one_clock": True,
            "threads": trial.cell.cpus_per_process,
            "algorithm": pick.algorithm,
            "chunks": pick.chunks,
            **ending.fields,
        }
    )
