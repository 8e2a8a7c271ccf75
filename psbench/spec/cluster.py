"""Which processes share a host, and what each of them takes of it."""

import math
from typing import Annotated

from pydantic import AfterValidator, Field

from psbench.spec.messages import show, wrong
from psbench.spec.names import Placement
from psbench.spec.structure import Frozen

Count = Annotated[int, Field(ge=1, le=65_536)]
_ROUNDING = 1e-9


def _a_share_or_whole_ones(gpus: float) -> float:
    if gpus > 1 and not gpus.is_integer():
        raise wrong(f"a worker takes a share of one GPU or whole ones, got {show(gpus)}")
    return gpus


Gpus = Annotated[float, Field(ge=0, le=1024), AfterValidator(_a_share_or_whole_ones)]


class Cluster(Frozen):
    """Where workers and servers run.

    With `hosts` or `ranks_per_host`, rank r is on logical host r // ranks_per_host, and dedicated
    servers follow on hosts of their own. Where the cluster has fewer nodes the hosts are emulated.
    """

    hosts: Count | None = None
    """logical hosts of the workers; null: as many as ranks_per_host asks for"""
    ranks_per_host: Count | None = None
    """null: the workers evenly over `hosts`"""
    cpus_per_worker: Count = 1
    """CPUs reserved for each worker and server, which are also its compute threads"""
    gpus_per_worker: Gpus = 0.0
    """GPUs reserved for each worker, which computes on the first of them: below 1, as in 0.25, a
    share, so that several workers are on one; servers take none"""
    placement: Placement | None = None
    """over the cluster's nodes; null: spread where hosts are asked for, else pack"""

    def per_host(self, workers: int) -> int | None:
        """Return the workers on each logical host but perhaps the last; None without hosts."""
        if self.ranks_per_host or self.hosts is None:
            return self.ranks_per_host
        return -(-workers // self.hosts)


def gpus_for(workers: int, share: float) -> float:
    """Return the GPUs that so many workers on one host take, a `share` each.

    No share below 1 lies on two GPUs, and where one GPU does not do, whole ones are taken.
    """
    if share >= 1:
        return share * workers
    if share * workers <= 1 + _ROUNDING:
        return min(share * workers, 1.0)
    return float(math.ceil(workers / math.floor(1 / share + _ROUNDING)))
