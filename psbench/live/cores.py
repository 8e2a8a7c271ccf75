"""Which cores a process may run on."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from psbench.live.host import Host
from psbench.spec import Cell


def shares_of_cores(cell: Cell, hosts: Sequence[Host]) -> list[tuple[int, ...]]:
    """Return the cores that each process of a cell is held to; none where it is not."""
    if not cell.pin:
        return [() for _ in hosts]
    pinned = in_turn if cell.pin == "in_turn" else share_out
    return pinned(hosts, cores_each=cell.cpus_per_process)


def share_out(hosts: Sequence[Host], *, cores_each: int) -> list[tuple[int, ...]]:
    """Return cores of its own for each process, in turn; none where a machine has too few.

    As MPI launchers do: processes that would share a core are better left to the scheduler.
    """
    placed = Counter(host.boot for host in hosts)
    return [
        share if placed[host.boot] * cores_each <= len(host.cores) else ()
        for host, share in zip(hosts, in_turn(hosts, cores_each=cores_each), strict=True)
    ]


def in_turn(hosts: Sequence[Host], *, cores_each: int = 1) -> list[tuple[int, ...]]:
    """Return cores for each process, in turn, also where a machine has fewer than they need.

    Timings then compare from run to run: the scheduler moves nobody.
    """
    placed: Counter[str] = Counter()
    shares: list[tuple[int, ...]] = []
    for host in hosts:
        first = placed[host.boot]
        taken = {host.cores[(first + i) % len(host.cores)] for i in range(cores_each)}
        shares.append(tuple(sorted(taken)))
        placed[host.boot] += cores_each
    return shares


def hold_to(cores: Iterable[int]) -> None:
    """Hold all threads of this process to these cores; those started later inherit it."""
    allowed = set(cores)
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), allowed)
        except ProcessLookupError:
            continue  # it has just ended
