"""Whether hosts fit the workers and the strategy, and what is on each of them."""

from collections.abc import Mapping
from typing import Any

from psbench.spec.any_strategy import carrier, is_colocated
from psbench.spec.cluster import Cluster
from psbench.spec.messages import conflict
from psbench.spec.names import Engine
from psbench.spec.strategy import NEEDS_HOSTS, AllReduce, ParameterServer
from psbench.units import count


def check_cluster(cluster: Cluster | None, fields: Mapping[str, Any]) -> None:
    """Raise a conflict where hosts do not go with the fields of a cell that are valid so far."""
    workers: int = fields.get("workers", 0)
    _check_hosts_hold(cluster, workers)
    if "strategy" not in fields:
        return
    strategy = fields["strategy"]
    sums = carrier(strategy)
    algorithm = sums.algorithm if isinstance(sums, AllReduce) else None
    if algorithm in NEEDS_HOSTS and not (cluster and (cluster.hosts or cluster.ranks_per_host)):
        raise conflict(
            f"{algorithm} needs to know which ranks share a host;"
            " set cluster.hosts or cluster.ranks_per_host"
        )
    if workers and "engine" in fields and isinstance(strategy, ParameterServer):
        _check_one_server_clips(strategy, workers, cluster, fields["engine"])


def per_host_of(workers: int, cluster: Cluster | None, engine: Engine) -> int | None:
    """Return the workers on each logical host but perhaps the last; None where Ray places them."""
    asked = cluster.per_host(workers) if cluster else None
    return 1 if asked is None and engine == "simulated" else asked


def servers_of(
    strategy: ParameterServer, workers: int, cluster: Cluster | None, engine: Engine
) -> int:
    """Return how many servers there are."""
    if strategy.servers == "workers":
        return workers
    per_host = per_host_of(workers, cluster, engine) if is_colocated(strategy) else None
    return strategy.servers or (-(-workers // per_host) if per_host else 1)


def gpus_per_worker_of(cluster: Cluster | None) -> float:
    """Return the GPUs, or the share of one, reserved for each worker."""
    return cluster.gpus_per_worker if cluster else 0.0


def _check_hosts_hold(cluster: Cluster | None, workers: int) -> None:
    per_host = cluster.per_host(workers) if cluster and workers else None
    if cluster and cluster.hosts and per_host:
        used = -(-workers // per_host)
        if used != cluster.hosts:
            raise conflict(
                f"{count(workers, 'worker')}, {per_host} a host, are on {count(used, 'host')}"
                f" and not on {cluster.hosts}"
            )


def _check_one_server_clips(
    strategy: ParameterServer, workers: int, cluster: Cluster | None, engine: Engine
) -> None:
    servers = servers_of(strategy, workers, cluster, engine)
    if strategy.clip_norm is not None and servers > 1:
        raise conflict(
            f"strategy.clip_norm is by the norm of the whole vector, and {servers} servers"
            " on these hosts keep parts of it; write strategy.servers: 1"
        )
