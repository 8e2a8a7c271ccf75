"""Which actors run a trial: made when first needed, used again for later trials."""

from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from psbench.errors import PlacementError
from psbench.live.actors import Node
from psbench.live.host import Host, kill_if_here

_PLACING_SECONDS = 60.0
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


class Pool:
    """Up to `size` actors of one CPU each, made when first needed and used again.

    Room for all of them is reserved at once, so that a run that starts can also go on. Raises
    PlacementError where the cluster does not give it within a minute.
    """

    def __init__(self, size: int) -> None:
        self._actors: list[tuple[Any, Host]] = []
        self._group: PlacementGroup = placement_group([{"CPU": 1}] * size, strategy="PACK")
        if not self._group.wait(timeout_seconds=_PLACING_SECONDS):
            free = float(ray.available_resources().get("CPU", 0.0))  # type: ignore[no-untyped-call]
            self.close()
            raise PlacementError(
                f"the spec needs {size} CPUs at once and {free:g} are free; wait for what else "
                f"runs on the cluster to end, or ask for fewer workers"
            )

    def take(self, *, workers: int, servers: int) -> list[Member]:
        """Return `workers` ranks, then `servers` servers; starts actors that do not run yet.

        Raises PlacementError where they do not start within two minutes, or cannot.
        """
        names = [f"rank {i}" for i in range(workers)] + [f"server {i}" for i in range(servers)]
        new = [self._start(bundle) for bundle in range(len(self._actors), len(names))]
        try:
            hosts = ray.get([actor.host.remote() for actor in new], timeout=_STARTING_SECONDS)
        except RayError as error:
            for actor in new:
                ray.kill(actor)
            reason = (
                f"not within {_STARTING_SECONDS:g} s"
                if isinstance(error, GetTimeoutError)
                else " ".join(str(error).split())
            )
            raise PlacementError(f"{len(new)} actors did not start: {reason}") from error
        self._actors += zip(new, hosts, strict=True)
        return [
            Member(name=name, is_rank=position < workers, actor=actor, host=host)
            for position, (name, (actor, host)) in enumerate(zip(names, self._actors, strict=False))
        ]

    def _start(self, bundle: int) -> Any:
        where = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=bundle)
        # a restarted actor would have lost its state without saying so
        return Node.options(  # type: ignore[attr-defined]
            num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy=where
        ).remote()

    def discard(self) -> None:
        """End all actors; the next `take` starts new ones."""
        for actor, host in self._actors:
            kill_if_here(host)
            ray.kill(actor)
        self._actors = []

    def close(self) -> None:
        """End all actors and give the room back."""
        self.discard()
        remove_placement_group(self._group)
