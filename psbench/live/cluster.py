"""The Ray cluster of a run: joined where the environment names one, else embedded here."""

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ray

from psbench.errors import PlacementError
from psbench.live import reaper

_OBJECT_STORE = 80 * 2**20  # bytes; nothing large goes through it
_CLEANING_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where actors are placed; `embedded` if it lives and dies with this process."""

    embedded: bool
    cpus: float


@contextlib.contextmanager
def cluster(num_cpus: int) -> Iterator[Cluster]:
    """Join the cluster that RAY_ADDRESS names, or start one with `num_cpus` logical CPUs.

    A job submitted to Ray has RAY_ADDRESS set. An embedded cluster is gone, with its folder and
    processes, when this process is. Raises PlacementError where a joined one is too small.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = os.environ.get("RAY_ADDRESS")
    with contextlib.ExitStack() as stack:
        if address:
            _join(address)
        else:
            folder = stack.enter_context(_temporary_folder())
            ray.init(
                address="local",
                num_cpus=num_cpus,
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=str(folder),
            )
        stack.callback(ray.shutdown)
        cpus = float(ray.cluster_resources().get("CPU", 0.0))  # type: ignore[no-untyped-call]
        if cpus < num_cpus:
            raise PlacementError(
                f"the spec needs {num_cpus} CPUs at once (one a worker and server) and the cluster "
                f"at {address} has {cpus:g}; ask for fewer workers or add nodes"
            )
        yield Cluster(embedded=not address, cpus=cpus)


def _join(address: str) -> None:
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ray.exceptions.AuthenticationError) as error:
        raise PlacementError(
            f"cannot join the Ray cluster at {address} (RAY_ADDRESS): "
            f"{' '.join(str(error).split())}; a cluster that wants a token also needs "
            f"RAY_AUTH_MODE=token"
        ) from error


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Make a folder for Ray's sockets and logs. It goes, and what still uses it ends, with us:
    also if we are killed."""
    folder = Path(tempfile.mkdtemp(prefix="psbench-ray-"))
    watcher = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", reaper.__file__, str(folder), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    watcher.wait()  # the process that stays is its child
    try:
        yield folder
    finally:
        watcher.communicate(timeout=_CLEANING_SECONDS)
