"""Which actors run a trial: made when first needed, used again for later trials."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
import torch
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from psbench.errors import PlacementError
from psbench.live.actors import Node
from psbench.live.code import Code, this_code
from psbench.live.host import Host, kill_if_here
from psbench.live.reservation import ended_by_signals, release, reserve
from psbench.network import logical_hosts
from psbench.spec import Cell, gpus_for, is_colocated
from psbench.units import count

_STARTING_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Member:
    """An actor and where it lives; `name` is what users read: "rank 2", "server 0"."""

    name: str
    is_rank: bool
    actor: Any
    host: Host

    def __str__(self) -> str:
        return f"{self.name} (pid {self.host.pid} on {self.host.name})"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the processes of a trial lie on hosts; actors serve every trial of the same layout.

    `hosts` is the logical host of each process, None where the spec asks for none.
    """

    cpus_each: int
    strategy: str
    """of Ray's placement group, PACK or SPREAD"""
    hosts: tuple[int, ...] | None = None
    gpus_each: float = 0.0
    """of each worker"""
    workers: int | None = None
    """the first of the processes, which have the GPUs; None where none has, and any may be one"""

    @staticmethod
    def of(cell: Cell) -> "Layout":
        """Return the layout that a cell asks for."""
        hosts = None
        if cell.ranks_per_host is not None:
            hosts = logical_hosts(
                workers=cell.workers,
                servers=cell.servers,
                ranks_per_host=cell.ranks_per_host,
                colocated=is_colocated(cell.strategy),
            )
        asked = cell.cluster.placement if cell.cluster else None
        placement = asked or ("pack" if hosts is None else "spread")
        return Layout(
            cpus_each=cell.cpus_per_process,
            strategy=placement.upper(),
            hosts=hosts,
            gpus_each=cell.gpus_per_worker,
            workers=cell.workers if cell.gpus_per_worker else None,
        )

    def has_gpus(self, number: int) -> bool:
        """Say whether GPUs are reserved for the process of a number."""
        return self.workers is not None and number < self.workers


class Pool:
    """Up to `size` actors in one layout, used again from trial to trial.

    Room for all of them is reserved at once, and all are started, so that a run that begins can
    also go on. Raises PlacementError where the cluster does not give that.
    """

    def __init__(self, layout: Layout, size: int) -> None:
        self.layout = layout
        self._actors: list[tuple[Any, Host]] = []
        self._bundle_of, bundles, strategy = _bundles(layout, size)
        _check_fit(bundles)
        with ended_by_signals():
            self._group = reserve(bundles, strategy=strategy, wanted=_wording(layout, bundles))
            try:
                self.take(workers=size, servers=0)
            except BaseException:
                self.close()
                raise

    def take(self, *, workers: int, servers: int) -> list[Member]:
        """Return `workers` ranks, then `servers` servers; starts actors that do not run yet.

        Raises PlacementError where they do not start within two minutes, or cannot, or run another
        psbench than this process.
        """
        names = [f"rank {i}" for i in range(workers)] + [f"server {i}" for i in range(servers)]
        new = [self._start(number) for number in range(len(self._actors), len(names))]
        try:
            hosts = ray.get([actor.host.remote() for actor in new], timeout=_STARTING_SECONDS)
            codes = ray.get([actor.code.remote() for actor in new], timeout=_STARTING_SECONDS)
            gpus = ray.get([actor.num_gpus.remote() for actor in new], timeout=_STARTING_SECONDS)
        except RayError as error:
            for actor in new:
                ray.kill(actor)
            reason = (
                f"not within {_STARTING_SECONDS:g} s"
                if isinstance(error, GetTimeoutError)
                else " ".join(str(error).split())
            )
            raise PlacementError(f"{len(new)} actors did not start: {reason}") from error
        first = len(self._actors)
        self._actors += zip(new, hosts, strict=True)
        for number, (host, code, seen) in enumerate(zip(hosts, codes, gpus, strict=True), first):
            _check_code(host, code)
            if self.layout.has_gpus(number) and not seen:
                raise PlacementError(
                    f"torch {torch.__version__} on {host.name} sees no GPU, and Ray reserved one "
                    f"there; install torch for CUDA, or leave cluster.gpus_per_worker out"
                )
        return [
            Member(name=name, is_rank=position < workers, actor=actor, host=host)
            for position, (name, (actor, host)) in enumerate(zip(names, self._actors, strict=False))
        ]

    def _start(self, number: int) -> Any:
        where = PlacementGroupSchedulingStrategy(
            self._group, placement_group_bundle_index=self._bundle_of[number]
        )
        # a restarted actor would have lost its state without saying so
        return Node.options(  # type: ignore[attr-defined]
            num_cpus=self.layout.cpus_each,
            num_gpus=self.layout.gpus_each if self.layout.has_gpus(number) else 0,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=where,
        ).remote()

    def discard(self) -> None:
        """End all actors, whatever they are doing; the next `take` starts new ones."""
        for actor, host in self._actors:
            kill_if_here(host)
            ray.kill(actor)
        self._actors = []

    def close(self) -> None:
        """End all actors, which are idle, and give the room back."""
        for actor, _ in self._actors:
            ray.kill(actor)  # on purpose, so that Ray does not tell its users of a worker that died
        self._actors = []
        release(self._group)


def _bundles(layout: Layout, size: int) -> tuple[list[int], list[dict[str, float]], str]:
    """Return the bundle of each process, Ray's bundles, and the strategy to place them by.

    A logical host is one bundle, and so is a process where there are none. To spread is to put each
    bundle on a node of its own where there are as many; else they share nodes, and logical hosts
    are emulated.
    """
    bundle_of = list(layout.hosts or range(size))
    sizes = Counter(bundle_of)
    bundles = [{"CPU": float(layout.cpus_each * sizes[number])} for number in range(len(sizes))]
    workers = Counter(bundle_of[: layout.workers] if layout.workers else ())
    for number, own in workers.items():
        bundles[number]["GPU"] = gpus_for(own, layout.gpus_each)
    nodes = sum(node["Alive"] for node in ray.nodes())  # type: ignore[no-untyped-call]
    # Ray's own SPREAD is a wish, and passed over where a node is just being given back
    apart = layout.strategy == "SPREAD" and nodes >= len(bundles)
    return bundle_of, bundles, "STRICT_SPREAD" if apart else layout.strategy


def _check_fit(bundles: list[dict[str, float]]) -> None:
    """Raise PlacementError where no node can hold a bundle: Ray would wait for ever."""
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    alive = [node["Resources"] for node in nodes if node["Alive"]]
    for resource in ("CPU", "GPU"):
        largest = max((node.get(resource, 0.0) for node in alive), default=0.0)
        most = max(bundle.get(resource, 0.0) for bundle in bundles)
        if most > largest:
            raise PlacementError(
                f"the spec needs {most:g} {resource}s on one host and the cluster's largest node "
                f"has {largest:g}; ask for fewer ranks_per_host or {resource.lower()}s_per_worker"
            )


def check_colocated(cell: Cell, members: Sequence[Member]) -> None:
    """Raise PlacementError where a colocated server has come to lie on a host without a worker, as
    Ray may do that is asked for no hosts."""
    if not is_colocated(cell.strategy):
        return
    homes = {member.host.home for member in members[: cell.workers]}
    for member in members[cell.workers :]:
        if member.host.home not in homes:
            raise PlacementError(
                f"strategy.placement is colocated, and {member} is where no worker is; set "
                f"cluster.hosts or cluster.ranks_per_host"
            )


def _wording(layout: Layout, bundles: list[dict[str, float]]) -> str:
    wanted = f"{sum(bundle['CPU'] for bundle in bundles):g} CPUs"
    if layout.workers:
        wanted += f" and {sum(bundle.get('GPU', 0.0) for bundle in bundles):g} GPUs"
    if layout.hosts is None:
        return wanted
    most = max(bundle["CPU"] for bundle in bundles)
    return f"{wanted} (up to {most:g} CPUs on each of {count(len(bundles), 'host')})"


def _check_code(host: Host, code: Code) -> None:
    if code.digest != this_code().digest:
        raise PlacementError(
            f"an actor on {host.name} runs psbench {code}, and this process {this_code()}; install "
            f"the same everywhere, and have no other in the current or the job's working folder"
        )
