"""Any collectives, by the compiled loop over events."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from psbench.network import Topology
from psbench.simulated.collective.event_loop import (
    BETWEEN_GROUPS,
    BETWEEN_HOSTS,
    INSIDE,
    NOTHING,
    run,
)
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.transfers import Collective, IntArray, Transfers, transfers_of


def simulate_compiled(
    collectives: Sequence[Collective],
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome:
    """Simulate as `reference.simulate_by_events` does, to the last bit."""
    world = collectives[0].schedule.world
    hosts, groups = (np.array(own, dtype=np.int64) for own in (topology.hosts, topology.groups))
    transfers = transfers_of(collectives)
    stage_of, stages, first_stage = _stages(transfers, len(collectives), world)
    islands = groups if topology.hosts_per_group is not None else hosts
    _, island = np.unique(islands, return_inverse=True)
    members = np.argsort(island, kind="stable")
    members_from = np.searchsorted(island[members], np.arange(island.max() + 2))
    free = occupied.copy() if occupied else Occupied.nothing(topology)
    starts, finishes, ports, cards, uplinks, adding = run(
        (transfers.src, transfers.dst, *_costs(transfers, topology, hosts, groups), *stage_of),
        stages,
        (first_stage, np.concatenate([own.ready for own in collectives])),
        (hosts, groups, island.astype(np.int64)),
        (members, members_from),
        (free.ports, free.cards, free.uplinks, free.adders),
        topology.uplink_share,
        in_turn,
    )
    shape = (len(collectives), world)
    return Outcome(
        starts=starts.reshape(shape),
        finishes=finishes.reshape(shape),
        ports=ports,
        cards=cards,
        uplinks=uplinks,
        adding=adding,
        occupied=free,
    )


def _costs(
    transfers: Transfers, topology: Topology, hosts: IntArray, groups: IntArray
) -> tuple[npt.NDArray[Any], ...]:
    """Return each message's way, what it holds a port, its bytes' time, its latency until it is
    ready at its receiver, and what adding it takes (-1 if it is not added)."""
    src, dst = transfers.src, transfers.dst
    way = np.where(groups[src] != groups[dst], BETWEEN_GROUPS, BETWEEN_HOSTS)
    way[hosts[src] == hosts[dst]] = INSIDE
    links = (topology.inside or topology.between, topology.between)
    latency, overhead, byte_time, reduce_time = (
        np.where(way == INSIDE, *(getattr(link, name) for link in links))
        for name in ("latency", "overhead", "byte_time", "reduce_time")
    )
    seconds = transfers.nbytes * byte_time
    adding = np.where(transfers.reduce, transfers.nbytes * reduce_time, -1.0)
    return way, overhead + seconds, seconds, overhead + latency, adding


def _stages(
    transfers: Transfers, collectives: int, world: int
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, ...], IntArray]:
    """Return the stages, the rounds of a collective in which a rank has messages.

    First each message's stage at its sender and at its receiver; then of each stage its node
    (collective x world + rank), the stage after it, the messages it has, and those it sends: their
    numbers by stage, and where each stage's begin; then the first stage of each node.
    """
    rounds = int(transfers.round.max(initial=-1)) + 1
    base = transfers.collective * world
    keys = [(base + rank) * rounds + transfers.round for rank in (transfers.src, transfers.dst)]
    unique, stage_of = np.unique(np.concatenate(keys), return_inverse=True)
    src_stage, dst_stage = np.split(stage_of.astype(np.int64), 2)
    node = unique // max(rounds, 1)
    follows = np.full(len(unique), NOTHING)
    follows[:-1][node[:-1] == node[1:]] = np.flatnonzero(node[:-1] == node[1:]) + 1
    left = np.bincount(stage_of, minlength=len(unique)).astype(np.int64)
    sends = np.argsort(src_stage, kind="stable")
    sends_from = np.searchsorted(src_stage[sends], np.arange(len(unique) + 1))
    first_stage = np.full(collectives * world, NOTHING)
    first_stage[node[::-1]] = np.arange(len(unique))[::-1]
    return (src_stage, dst_stage), (node, follows, left, sends, sends_from), first_stage
