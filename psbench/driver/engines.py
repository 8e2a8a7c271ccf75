"""The engines by name, and what the driver asks of one."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self

from psbench.results import EvalRow, StepRow, TrialRow
from psbench.spec import Cell, Trial

Output = list[StepRow] | EvalRow | TrialRow


class Engine(Protocol):
    """Turns trials into rows. A context manager that owns whatever processes it needs."""

    threads: int

    def run(
        self, trial: Trial, *, cell_id: str, attempt: int, stop: Callable[[], bool]
    ) -> Iterator[Output]:
        """Yield a trial's steps as they finish, its evaluations, and last its one summary.

        A trial that fails ends in a summary that says why. Raises KeyboardInterrupt soon after
        `stop()` turns true, what was finished yielded before.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def live(cells: Sequence[Cell]) -> Engine:
    """Return the engine on Ray."""
    from psbench.live import LiveEngine

    return LiveEngine(cells)


ENGINES: dict[str, Callable[[Sequence[Cell]], Engine]] = {"live": live}
