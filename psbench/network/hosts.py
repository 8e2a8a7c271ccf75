"""Which logical host each process of a trial is on."""


def logical_hosts(
    *, workers: int, servers: int, ranks_per_host: int, colocated: bool = False
) -> tuple[int, ...]:
    """Return the host of each worker, then of each server.

    Rank r is on host r // ranks_per_host. Dedicated servers follow on hosts of their own; server i
    of `colocated` ones is on the workers' host i, and so in turn where there are fewer of these.
    """
    ranks = tuple(rank // ranks_per_host for rank in range(workers))
    hosts = ranks[-1] + 1
    if colocated:
        return ranks + tuple(server % hosts for server in range(servers))
    return ranks + tuple(range(hosts, hosts + servers))
