"""Which actors run a trial: made when first needed, used again for later trials."""

from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.placement_group import remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from psbench.errors import PlacementError
from psbench.live.actors import Node
from psbench.live.code import Code, this_code
from psbench.live.host import Host, kill_if_here
from psbench.live.reservation import ended_by_signals, reserve

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
    """Up to `size` actors of one CPU each, used again from trial to trial.

    Room for all of them is reserved at once, and all are started, so that a run that begins can
    also go on. Raises PlacementError where the cluster does not give that.
    """

    def __init__(self, size: int) -> None:
        self._actors: list[tuple[Any, Host]] = []
        with ended_by_signals():
            self._group = reserve(size)
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
        new = [self._start(bundle) for bundle in range(len(self._actors), len(names))]
        try:
            hosts = ray.get([actor.host.remote() for actor in new], timeout=_STARTING_SECONDS)
            codes = ray.get([actor.code.remote() for actor in new], timeout=_STARTING_SECONDS)
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
        for host, code in zip(hosts, codes, strict=True):
            _check_code(host, code)
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


def _check_code(host: Host, code: Code) -> None:
    if code.digest != this_code().digest:
        raise PlacementError(
            f"an actor on {host.name} runs psbench {code}, and this process {this_code()}; install "
            f"the same everywhere, and have no other in the current or the job's working folder"
        )
