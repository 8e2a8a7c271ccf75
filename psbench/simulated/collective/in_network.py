"""Vectors that the switches sum on their way: no schedule, and no rank adds anything.

Each rank streams its vector to the switch. As the streams come that adds them, and streams the sum
back to all ranks at once. Where hosts are in several groups, the switch of a group sends the sum
of its own on, as one stream, to a switch above, and passes the sum of all down.

The costs are those of `reference`. A stream of n bytes takes o at the rank that sends and at the
one that receives, and L each way from level to level. A switch adds as fast as its ports are, and
holds little: so all streams of a sum go on at one pace, that of the slowest place that they pass,
and who is early holds its port until the last stream has begun. Of the k ranks of a host each has
a stream of its own through its card, which then takes k times as long; nothing is summed inside a
host first. An uplink carries one stream for the whole group. With the ranks ready together, n
bytes take

    2 o + 2 l L + max(1, k, u) n G

with l = 1 level of switches, or 2 and u = `Topology.uplink_share`; k is of the fullest host.

Sources: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP): a hardware architecture
for efficient data reduction", COMHPC 2016 (trees of switches that add); Graham et al., "Scalable
Hierarchical Aggregation and Reduction Protocol (SHARP) streaming-aggregation hardware design and
evaluation", ISC 2020 (at the rate of the link, also for long vectors). The formula is derived.
"""

from collections.abc import Sequence

import numpy as np

from psbench.network import Topology
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Outcome
from psbench.simulated.collective.transfers import FloatArray

_OUT, _IN = 0, 1


def simulate_in_network(
    sizes_in_bytes: Sequence[int],
    starts: FloatArray | None,
    topology: Topology,
    *,
    in_turn: bool = True,
    occupied: Occupied | None = None,
) -> Outcome:
    """Return when the switches of `topology` have summed buckets, one after another.

    `starts`, shape (buckets, world), s: when each rank is ready for each bucket; None: at 0.
    `in_turn` and `occupied` as for `simulate`; where buckets are not in turn a rank's streams still
    are, in the order of the buckets. A bucket without bytes takes no time, and neither does one
    rank alone.
    """
    world = len(topology.hosts)
    ready = np.zeros((len(sizes_in_bytes), world)) if starts is None else np.asarray(starts, float)
    switches = _Switches(topology, occupied or Occupied.nothing(topology))
    began, finishes = np.empty_like(ready), np.empty_like(ready)
    entered = np.full(world, -np.inf)
    for bucket, nbytes in enumerate(sizes_in_bytes):
        began[bucket] = np.maximum(ready[bucket], entered) if in_turn else ready[bucket]
        entered = switches.sum(nbytes, began[bucket]) if nbytes and world > 1 else began[bucket]
        finishes[bucket] = entered
    return switches.outcome(began, finishes)


class _Switches:
    """What streams to and from the switches occupy, and have occupied so far."""

    def __init__(self, topology: Topology, occupied: Occupied) -> None:
        self._link = topology.between
        self._hosts, self._groups = np.array(topology.hosts), np.array(topology.groups)
        self._of_groups = len(set(topology.groups)) > 1
        self._ranks = np.bincount(self._hosts)
        self._uplink_share = topology.uplink_share if self._of_groups else 0.0
        self._pace = max(1.0, float(self._ranks.max()), self._uplink_share)
        self._free, self._busy = occupied.copy(), Occupied.nothing(topology)

    def sum(self, nbytes: int, began: FloatArray) -> FloatArray:
        """Return when each rank has the sum of a bucket that it began with at `began`."""
        overhead, levels = self._link.overhead, 2 if self._of_groups else 1
        seconds = nbytes * self._link.byte_time
        lasts = seconds * self._pace
        together = np.full_like(began, self._begin(_OUT, began).max())
        self._occupy(_OUT, together, lasts, seconds)
        there = together + (overhead + 2 * levels * self._link.latency)
        receives = self._begin(_IN, there)
        self._occupy(_IN, receives, lasts, seconds)
        return receives + (overhead + lasts)

    def _begin(self, side: int, ready: FloatArray) -> FloatArray:
        """Return when all that a rank's stream needs is free for one that is ready at `ready`."""
        free = self._free
        begin: FloatArray = np.maximum(
            ready, np.maximum(free.ports[side], free.cards[side, self._hosts])
        )
        if self._of_groups:
            begin = np.maximum(begin, free.uplinks[side, self._groups])
        return begin

    def _occupy(self, side: int, begin: FloatArray, lasts: float, seconds: float) -> None:
        """Have streams that begin at `begin` last so long; alone each would take `seconds`."""
        free, busy, overhead = self._free, self._busy, self._link.overhead
        free.ports[side] = begin + (overhead + lasts)
        busy.ports[side] += overhead + seconds
        np.maximum.at(free.cards[side], self._hosts, begin + lasts)
        busy.cards[side] += self._ranks * seconds
        if self._of_groups:
            np.maximum.at(free.uplinks[side], self._groups, begin + lasts)
            busy.uplinks[side, np.unique(self._groups)] += seconds * self._uplink_share

    def outcome(self, starts: FloatArray, finishes: FloatArray) -> Outcome:
        """Return what came of it."""
        return Outcome(
            starts=starts,
            finishes=finishes,
            ports=self._busy.ports,
            cards=self._busy.cards,
            uplinks=self._busy.uplinks,
            adding=self._busy.adders,
            occupied=self._free,
        )
