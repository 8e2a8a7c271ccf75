"""Room on the cluster for all processes of a run at once, waited for where others have it."""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group

from psbench.errors import PlacementError
from psbench.live.submission import submission_id

_POLL_SECONDS = 1.0
_RELEASE_POLL_SECONDS = 0.02
_RELEASE_SECONDS = 10.0
_WAITING_SECONDS = 60.0
_QUEUEING_SECONDS = 24 * 3600.0
"""How long a submitted job waits: its user has gone and expects it to run when it can."""


def reserve(bundles: list[dict[str, float]], *, strategy: str, wanted: str) -> PlacementGroup:
    """Reserve all bundles or none; says on stderr that it waits for what is `wanted`.

    Raises PlacementError where the cluster does not give them within a minute, a submitted job
    within a day, and KeyboardInterrupt at once on Ctrl-C or SIGTERM.
    """
    patience = _QUEUEING_SECONDS if submission_id() else _WAITING_SECONDS
    deadline = time.monotonic() + patience
    group: PlacementGroup = placement_group(bundles, strategy=strategy)
    told = False
    try:
        while not group.wait(timeout_seconds=_POLL_SECONDS):
            if time.monotonic() > deadline:
                raise PlacementError(
                    f"the spec needs {wanted} at once and {_free(bundles)} are free; wait for "
                    f"what else runs on the cluster to end, or ask for fewer workers"
                )
            if not told:
                _tell(f"waiting for {wanted} of the cluster; {_free(bundles)} are free")
                told = True
    except BaseException:
        remove_placement_group(group)
        raise
    return group


def release(group: PlacementGroup) -> None:
    """Give room back and wait until it is free: where the next group will lie depends on it."""
    remove_placement_group(group)
    deadline = time.monotonic() + _RELEASE_SECONDS
    # a bundle's share of a node is a resource of its own, named after the group
    while any(name.endswith(group.id.hex()) for name in ray.available_resources()):  # type: ignore[no-untyped-call]
        if time.monotonic() > deadline:
            return  # whoever comes next waits for it anyway
        time.sleep(_RELEASE_POLL_SECONDS)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt where they strike: Ray's handler exits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _free(bundles: list[dict[str, float]]) -> str:
    """Return what is free of the resources that any bundle asks for."""
    free = ray.available_resources()  # type: ignore[no-untyped-call]
    if not any("GPU" in bundle for bundle in bundles):
        return f"{free.get('CPU', 0.0):g}"
    return f"{free.get('CPU', 0.0):g} CPUs and {free.get('GPU', 0.0):g} GPUs"


def _tell(message: str) -> None:
    with contextlib.suppress(OSError):  # who reads along may leave
        print(message, file=sys.stderr, flush=True)
