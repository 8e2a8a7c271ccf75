"""Which processes share a host, and what each of them takes of it."""

from typing import Annotated

from pydantic import Field

from psbench.spec.names import Placement
from psbench.spec.structure import Frozen

Count = Annotated[int, Field(ge=1, le=65_536)]


class Cluster(Frozen):
    """Where workers and servers run.

    With `hosts` or `ranks_per_host`, rank r is on logical host r // ranks_per_host, and servers
    follow on hosts of their own. Where the cluster has fewer nodes the hosts are emulated.
    """

    hosts: Count | None = None
    """logical hosts of the workers; null: as many as ranks_per_host asks for"""
    ranks_per_host: Count | None = None
    """null: the workers evenly over `hosts`"""
    cpus_per_worker: Count = 1
    """CPUs reserved for each worker and server, which are also its compute threads"""
    placement: Placement | None = None
    """over the cluster's nodes; null: spread where hosts are asked for, else pack"""

    def per_host(self, workers: int) -> int | None:
        """Return the workers on each logical host but perhaps the last; None without hosts."""
        if self.ranks_per_host or self.hosts is None:
            return self.ranks_per_host
        return -(-workers // self.hosts)
