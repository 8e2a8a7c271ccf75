"""Which ranks share what: hosts with a network card each, and groups of hosts behind an uplink."""

from dataclasses import dataclass

from psbench.network.link import Link


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Ranks on hosts, and what a message between two of them costs.

    Each rank has a port, busy in each direction for o + n G of a message of n bytes. Between hosts,
    the n G also occupy the card of the sender's host and that of the receiver's, each in one
    direction: messages of the ranks of a host queue there. Between groups they also occupy the
    uplinks of both groups, for n G oversubscription / hosts_per_group.
    """

    hosts: tuple[int, ...]
    """the host of each rank"""
    between: Link
    """of two ranks on different hosts"""
    inside: Link | None = None
    """of two ranks of one host; None: as `between`, but past the card"""
    hosts_per_group: int | None = None
    """hosts behind one uplink, in the order of their numbers; None: no uplinks"""
    oversubscription: float = 1.0
    """the rate of a group's hosts together over that of its uplink"""

    @staticmethod
    def flat(ranks: int, link: Link) -> "Topology":
        """Return ranks that have a host each."""
        return Topology(hosts=tuple(range(ranks)), between=link)

    @property
    def groups(self) -> tuple[int, ...]:
        """The group of each rank; all are of one where there are no uplinks."""
        if self.hosts_per_group is None:
            return (0,) * len(self.hosts)
        return tuple(host // self.hosts_per_group for host in self.hosts)

    @property
    def uplink_share(self) -> float:
        """The time that a message occupies an uplink, over what it occupies a card."""
        if self.hosts_per_group is None:
            return 0.0
        return self.oversubscription / self.hosts_per_group

    @property
    def shares_cards(self) -> bool:
        """Whether any host has several ranks."""
        return len(set(self.hosts)) < len(self.hosts)

    @property
    def shares_nothing(self) -> bool:
        """Whether each rank has a host of its own, and none is behind an uplink."""
        return not self.shares_cards and self.hosts_per_group is None
