"""What simulates cells side by side: Ray's tasks where Ray runs, processes of our own elsewhere."""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from psbench.driver.processes import Processes
from psbench.errors import TrialError


def executor_for(trials: int) -> Executor | None:
    """Return what simulates so many trials side by side; None where nothing is gained by it."""
    if os.environ.get("RAY_ADDRESS"):
        return RayTasks()
    side_by_side = min(trials, len(os.sched_getaffinity(0)))
    return Processes(side_by_side) if side_by_side > 1 else None


class RayTasks(Executor):
    """Calls as tasks of the Ray cluster that this process is in, or RAY_ADDRESS names."""

    def __init__(self) -> None:
        import ray

        self._ours = not ray.is_initialized()
        if self._ours:
            ray.init(log_to_driver=False)
        self._under_way: set[Any] = set()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        import ray

        task = ray.remote(call).options(num_cpus=1, max_retries=0)
        reference = task.remote(*arguments, **named)
        self._under_way.add(reference)
        told: Future[Any] = Future()

        def done(its: Future[Any]) -> None:
            self._under_way.discard(reference)
            error = its.exception()
            if error is None:
                told.set_result(its.result())
            else:
                told.set_exception(TrialError(f"the task that simulated it failed: {error}"))

        reference.future().add_done_callback(done)
        return told

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all tasks; calls under way fail."""
        import ray

        for reference in list(self._under_way):
            ray.cancel(reference, force=True)
        if self._ours:
            ray.shutdown()
