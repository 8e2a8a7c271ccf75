"""What a cluster is like: hosts and computing times as a spec says, links as they are, and how much
published models have to send and to compute."""

from psbench.network.compute_time import ComputeTime, Slowness, Stragglers, share_computed
from psbench.network.fit import LinkFit, Observation, fit_link, one_way, reduction, train
from psbench.network.hosts import logical_hosts
from psbench.network.link import Link
from psbench.network.measured import Network, Timing
from psbench.network.presets import PRESETS
from psbench.network.profiles import PROFILES, Layer, Profile
from psbench.network.topology import Topology

__all__ = [
    "PRESETS",
    "PROFILES",
    "ComputeTime",
    "Layer",
    "Link",
    "LinkFit",
    "Network",
    "Observation",
    "Profile",
    "Slowness",
    "Stragglers",
    "Timing",
    "Topology",
    "fit_link",
    "logical_hosts",
    "one_way",
    "reduction",
    "share_computed",
    "train",
]
