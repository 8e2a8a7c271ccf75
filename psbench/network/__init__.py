"""What a cluster is like, where a spec and not the machine says so: hosts, and computing times."""

from psbench.network.compute_time import ComputeTime, Slowness
from psbench.network.hosts import logical_hosts

__all__ = ["ComputeTime", "Slowness", "logical_hosts"]
