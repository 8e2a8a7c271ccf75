"""The engines by name, and what the driver asks of one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, Self

from psbench.driver.executors import executor_for
from psbench.errors import PlacementError
from psbench.results import EngineOutput
from psbench.spec import Asked, Cell, NetworkFile, Trial


class Engine(Protocol):
    """Turns trials into rows. A context manager that owns whatever processes it needs."""

    threads: int
    """compute threads of each process"""

    @property
    def clock_uncertainty_s(self) -> float | None:
        """0 where all processes read one clock, None where it was not measured. Once entered."""

    @property
    def networks(self) -> Mapping[str, NetworkFile]:
        """What was measured for `algorithm: auto`, by transport. Once entered."""

    @property
    def warnings(self) -> Sequence[str]:
        """What a user should know before the first trial. Once entered."""

    def expect(self, asked: Sequence[Asked]) -> None:
        """Take note of the trials that will be run, in this order. Once entered."""

    def run(
        self, trial: Trial, *, cell_id: str, attempt: int, stop: Callable[[], bool]
    ) -> Iterator[EngineOutput]:
        """Yield a trial's steps as they finish, its evaluations, and last its one summary.

        A trial that fails ends in a summary that says why. Raises KeyboardInterrupt soon after
        `stop()` turns true, what was finished yielded before.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


Networks = Mapping[str, NetworkFile]


def live(cells: Sequence[Cell], networks: Networks) -> Engine:
    """Return the engine on Ray; PlacementError where Ray or torch is not installed."""
    try:
        from psbench.live.engine import LiveEngine
    except ModuleNotFoundError as error:
        raise PlacementError(
            f"the live engine needs {error.name}, which is not installed here; "
            f"install psbench with its dependencies (reading results needs neither ray nor torch)"
        ) from error
    return LiveEngine(cells, networks)


def simulated(cells: Sequence[Cell], networks: Networks) -> Engine:
    """Return the engine in virtual time."""
    from psbench.simulated import SimulatedEngine

    return SimulatedEngine(cells, executor_for)


ENGINES: dict[str, Callable[[Sequence[Cell], Networks], Engine]] = {
    "live": live,
    "simulated": simulated,
}
"""Each takes the cells of a run, and what the run measured when it began: nothing, if it is new."""
