"""Whether a strategy fits the task, and the number of workers, that it is for."""

from psbench.spec.any_strategy import AnyStrategy, LocalSteps, carrier
from psbench.spec.local_steps import Easgd
from psbench.spec.messages import conflict, show
from psbench.spec.strategy import AllReduce, Bare, Ddp, ParameterServer
from psbench.spec.task import Task, Untrained
from psbench.units import count

_OF_LEARNING = ("lr_rule", "clip_norm")


def check_strategy(strategy: AnyStrategy, task: Task | None, workers: int | None) -> None:
    """Raise a conflict where a strategy means nothing for a task, or so many workers; None where
    they are not known."""
    if workers is not None and isinstance(strategy, Bare) and workers != 1:
        raise conflict(f"bare is one process, not {workers} workers")
    if isinstance(task, Untrained):
        _check_untrained(strategy, task.noun)
    if workers is not None:
        _check_workers(strategy, workers)


def _check_untrained(strategy: AnyStrategy, noun: str) -> None:
    if isinstance(strategy, Bare | Ddp | LocalSteps):
        raise conflict(f"{strategy.kind} trains a model, and a {noun} task has none")
    if isinstance(strategy, ParameterServer):
        for name in _OF_LEARNING:
            if getattr(strategy, name) != type(strategy).model_fields[name].default:
                raise conflict(f"a {noun} task learns nothing; leave it out", at=name)


def _check_workers(strategy: AnyStrategy, workers: int) -> None:
    many = count(workers, "worker")
    sums = carrier(strategy)
    if isinstance(sums, AllReduce) and sums.roots and sums.roots > workers:
        at = "roots" if sums is strategy else "over.roots"
        raise conflict(f"roots are ranks; {many} cannot be {sums.roots} roots", at=at)
    if isinstance(strategy, ParameterServer) and strategy.backup >= workers:
        better = f"write at most {workers - 1}" if workers > 1 else "leave it out"
        raise conflict(f"of {many} some must be waited for; {better}", at="backup")
    if isinstance(strategy, Easgd) and strategy.alpha and not strategy.in_turn:
        # without gradients, the mean's way to the centre is 1 - alpha (1 + p) times the last
        most = 2 / (1 + workers)
        if strategy.alpha > most:
            raise conflict(
                f"{show(strategy.alpha)} lets the centre of {many} swing ever further; write at"
                f" most {most:g}",
                at="alpha",
            )
