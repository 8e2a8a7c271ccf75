"""Which logical host each process of a trial is on."""


def logical_hosts(*, workers: int, servers: int, ranks_per_host: int) -> tuple[int, ...]:
    """Return the host of each worker, then of each server.

    Rank r is on host r // ranks_per_host; dedicated servers follow on hosts of their own.
    """
    ranks = tuple(rank // ranks_per_host for rank in range(workers))
    first = ranks[-1] + 1
    return ranks + tuple(range(first, first + servers))
