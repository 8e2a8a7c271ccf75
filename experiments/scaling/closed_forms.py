"""What formulas say that communication takes: `schedules.COSTS`, and one of servers."""

from crossovers import BEST
from figures import ALL_REDUCES, ONE_EACH, RAILS

from psbench.network import PRESETS
from psbench.schedules import COSTS, pipelined_chunks

ALGORITHMS = dict(
    zip(ALL_REDUCES, ("ring", "tree", "double_tree", "halving_doubling"), strict=True)
)
PIPELINED = ("tree", "double tree")
EXACT = ("ring", "halving-doubling")
"""All-reduces of which the formula is exact."""
PER_HOST, INSIDE = 8, PRESETS["nvswitch"]  # of hosts.yaml


def all_reduce(name: str, workers: int, nbytes: int, network: str) -> float:
    """Return the seconds of an all-reduce that all begin together, by its cost in `schedules`:
    exact for EXACT, and for the others about an upper bound."""
    link = PRESETS[network].costs()
    algorithm = ALGORITHMS[name]
    chunks = pipelined_chunks(algorithm, workers, nbytes, **link) if name in PIPELINED else None
    return COSTS[algorithm](workers, nbytes, **link, num_chunks=chunks)


def rails(workers: int, nbytes: int, network: str) -> float:
    """Return at most the seconds of an all-reduce by rails, as `schedules` has it, but that adding
    takes as long inside a host as the link there says, and elsewhere as the other one does."""
    link, hosts, part = PRESETS[network], workers // PER_HOST, nbytes / PER_HOST
    inside = {f"inside_{name}": value for name, value in INSIDE.costs().items()}
    del inside["inside_reduce_time"]
    bare = COSTS["hierarchical_rails"](
        workers, nbytes, **link.costs() | {"reduce_time": 0.0} | inside, ranks_per_host=PER_HOST
    )
    return bare + part * (INSIDE.reduce_time + (hosts - 1) / hosts * link.reduce_time)


def served(workers: int, servers: int, nbytes: int, network: str) -> float:
    """Return by how many seconds a step with servers is longer than computing, once steps repeat:
    with p workers, s servers and n bytes

        2 (L + o) + (p + s) (o + n G / s) + p n gamma / s

    Each server answers all workers by rank, p messages, and servers begin one after another, as
    they were pushed to: so the last worker has its last answer s - 1 messages after the first
    server has sent its last one. Then it computes, and its first push, one more message, goes to
    the server that began first, which adds up p parts and begins again.
    """
    link, part = PRESETS[network], nbytes / servers
    port = (workers + servers) * (link.overhead + part * link.byte_time)
    return 2 * (link.latency + link.overhead) + port + workers * part * link.reduce_time


def communication(name: str, workers: int, nbytes: int, network: str) -> float:
    """Return the formula's seconds of a strategy, as `figures` names it; BEST is the exact one that
    takes the least."""
    if name == BEST:
        return min(all_reduce(own, workers, nbytes, network) for own in EXACT)
    if name == RAILS:
        return rails(workers, nbytes, network)
    if name in ALGORITHMS:
        return all_reduce(name, workers, nbytes, network)
    servers = workers if name == ONE_EACH else int(name.split(maxsplit=1)[0])
    return served(workers, servers, nbytes, network)
