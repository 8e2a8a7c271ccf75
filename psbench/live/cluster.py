"""The Ray cluster of a run: joined where there is one already, else embedded here."""

import contextlib
import functools
import logging
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import ray._private.services
import torch

from psbench.errors import PlacementError
from psbench.live import reaper

_OBJECT_STORE = 80 * 2**20  # bytes; enough where no vectors go through it
_CLEANING_SECONDS = 30.0
_PROBE_SECONDS = 5.0
_LONGEST_FOLDER = 32  # characters: Ray's sockets lie deep in it, and a socket's path is short


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where actors are placed; `embedded` if it lives and dies with this process."""

    embedded: bool
    num_hosts: int


@contextlib.contextmanager
def cluster(num_cpus: int, num_gpus: float = 0.0, *, vectors: bool = False) -> Iterator[Cluster]:
    """Join the cluster this process is in already or RAY_ADDRESS names, or start one.

    One that is started has `num_cpus` logical CPUs, the GPUs that Ray finds, and an object store as
    large as Ray finds fit if `vectors` go through it; it is gone, with its folder and processes,
    when this process is. A job submitted to Ray has RAY_ADDRESS set. Raises PlacementError where a
    cluster is too small, for GPUs also its own, or cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = os.environ.get("RAY_ADDRESS")
    with contextlib.ExitStack() as stack:
        ours = not ray.is_initialized()
        embedded = ours and not address
        if embedded:
            _check_gpus(num_gpus, torch.cuda.device_count(), where="torch here sees")
        folder = stack.enter_context(_temporary_folder()) if embedded else None
        if ours:
            stack.callback(ray.shutdown)  # before the folder goes
        if folder:
            _start(num_cpus, folder, None if vectors else _OBJECT_STORE)
        elif ours and address:
            _join(address)
        cpus = float(ray.cluster_resources().get("CPU", 0.0))  # type: ignore[no-untyped-call]
        if cpus < num_cpus:
            raise PlacementError(
                f"the spec needs {num_cpus} CPUs at once (one a worker and server) and the cluster "
                f"has {cpus:g}; ask for fewer workers or servers, or add nodes"
            )
        gpus = float(ray.cluster_resources().get("GPU", 0.0))  # type: ignore[no-untyped-call]
        _check_gpus(num_gpus, gpus, where="the cluster has")
        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        yield Cluster(embedded=embedded, num_hosts=sum(node["Alive"] for node in nodes))


def _check_gpus(wanted: float, there: float, *, where: str) -> None:
    if there < wanted:
        raise PlacementError(
            f"the spec needs {wanted:g} {'GPU' if wanted == 1 else 'GPUs'} at once "
            f"(cluster.gpus_per_worker) and {where} {there:g}; ask for fewer, or compute on the CPU"
        )


def _start(num_cpus: int, folder: Path, store: int | None) -> None:
    try:
        with _in_groups_of_their_own():
            ray.init(
                address="local",
                num_cpus=num_cpus,
                include_dashboard=False,
                object_store_memory=store,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=str(folder),
            )
    except Exception as error:  # Ray raises just that where its processes do not come up
        reason = " ".join(str(error).split())
        raise PlacementError(f"Ray did not start with {num_cpus} logical CPUs: {reason}") from error


@contextlib.contextmanager
def _in_groups_of_their_own() -> Iterator[None]:
    """Have Ray start its processes in process groups of their own.

    `timeout` and many schedulers send SIGTERM to our whole group. It is for us to end Ray's
    processes then: without them Ray waits for a minute and ends this process in its own way.
    """
    services: Any = ray._private.services
    popen = services.ConsolePopen
    services.ConsolePopen = functools.partial(popen, process_group=0)
    try:
        yield
    finally:
        services.ConsolePopen = popen


def _join(address: str) -> None:
    try:
        _probe(address)
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise PlacementError(
            f"cannot join the Ray cluster at {address} (RAY_ADDRESS): "
            f"{' '.join(str(error).split())}; where it wants a token, set RAY_AUTH_MODE=token and "
            f"have its ~/.ray/auth_token or RAY_AUTH_TOKEN"
        ) from error


def _probe(address: str) -> None:
    """Raise OSError where nobody listens at host:port; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS).close()


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Make a folder for Ray's sockets and logs. It goes, and Ray's processes end, with us: also if
    we are killed."""
    usual = tempfile.gettempdir()
    root = usual if len(usual) + len("/psbench-ray-12345678") <= _LONGEST_FOLDER else "/tmp"  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="psbench-ray-", dir=root))
    watcher = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", reaper.__file__, str(folder), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    watcher.wait()  # the process that stays is its child
    os.environ[reaper.MARK] = str(folder)
    try:
        yield folder
    finally:
        del os.environ[reaper.MARK]
        with contextlib.suppress(subprocess.TimeoutExpired):  # it goes on without us
            watcher.communicate(timeout=_CLEANING_SECONDS)
