"""Which actors run a trial: made when first needed, used again for later trials."""

from dataclasses import dataclass
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from psbench.errors import PlacementError
from psbench.live.actors import Host, ServerActor, WorkerActor

_PLACING_SECONDS = 60.0
_STARTING_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Member:
    """An actor and where it lives; `name` is what users read: "rank 2", "server 0"."""

    name: str
    actor: Any
    host: Host


class Pool:
    """Actors for up to `workers` ranks and `servers` servers, one CPU each.

    Room for all of them is reserved at once, so that a run that starts can also go on. Raises
    PlacementError where the cluster does not give it within a minute.
    """

    def __init__(self, *, workers: int, servers: int) -> None:
        self._workers: list[Member] = []
        self._servers: list[Member] = []
        self._num_workers = workers
        asked = workers + servers
        self._group: PlacementGroup = placement_group([{"CPU": 1}] * asked, strategy="PACK")
        if not self._group.wait(timeout_seconds=_PLACING_SECONDS):
            free = ray.available_resources().get("CPU", 0.0)
            self.close()
            raise PlacementError(
                f"the spec needs {asked} CPUs at once and {free:g} are free; wait for what else "
                f"runs on the cluster to end, or ask for fewer workers"
            )

    def take(self, *, workers: int, servers: int) -> list[Member]:
        """Return `workers` ranks, then `servers` servers; starts those that do not run yet."""
        new_workers = range(len(self._workers), workers)
        new_servers = range(len(self._servers), servers)
        actors = [(f"rank {i}", self._start(WorkerActor, i)) for i in new_workers]
        actors += [
            (f"server {i}", self._start(ServerActor, self._num_workers + i)) for i in new_servers
        ]
        hosts = ray.get([a.host.remote() for _, a in actors], timeout=_STARTING_SECONDS)
        members = [
            Member(name=name, actor=actor, host=host)
            for (name, actor), host in zip(actors, hosts, strict=True)
        ]
        self._workers += members[: len(new_workers)]
        self._servers += members[len(new_workers) :]
        return self._workers[:workers] + self._servers[:servers]

    def _start(self, kind: Any, bundle: int) -> Any:
        where = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=bundle)
        # a restarted actor would have lost its state without saying so
        return kind.options(
            num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy=where
        ).remote()

    def discard(self) -> None:
        """End all actors; the next `take` starts new ones."""
        for member in [*self._workers, *self._servers]:
            ray.kill(member.actor)
        self._workers, self._servers = [], []

    def close(self) -> None:
        """End all actors and give the room back."""
        self.discard()
        remove_placement_group(self._group)
