"""What a cell's `network` says, as people say it."""

from collections.abc import Iterable, Sequence
from typing import Any

from psbench.units import show_value

_NO_NUMBERS = {"preset", "file", "inside", "hosts_per_group", "in_network_reduction"}
"""Fields of which some cells may lack a value, or have one that is no number."""
_UPLINKS = {"network.hosts_per_group", "network.oversubscription"}
_FIGURES = ("latency", "overhead", "reduce_bandwidth")


def networks_told_in_words(axes: Iterable[str]) -> set[str]:
    """Return which of the dotted paths that vary `networks_in_words` tells best: all of `network`,
    where more than numbers varies; none where those alone do."""
    own = {axis for axis in axes if axis.partition(".")[0] == "network"}
    return own if _NO_NUMBERS & {name for axis in own for name in axis.split(".")[1:2]} else set()


def networks_in_words(networks: Sequence[dict[str, Any] | None], axes: Iterable[str]) -> list[str]:
    """Return the fields `network` of cells in words: "ethernet-10g", "10.0 Gbit/s, latency 20.0 us,
    inside nvlink", "ethernet-10g, 4 hosts a group, uplinks 2:1".

    The link between hosts, and of the rest what varies: `axes` are dotted paths. "" for a cell
    without a network; for all cells, where words tell nothing best, or those that have a network
    have the same.
    """
    varying = networks_told_in_words(axes)
    if not varying:
        return [""] * len(networks)
    words = [_network(network, varying) if network else "" for network in networks]
    return words if len({*words} - {""}) > 1 else [""] * len(words)


def _network(network: dict[str, Any], varying: set[str]) -> str:
    parts = _link(network)
    if any(axis.startswith("network.inside") for axis in varying) and network.get("inside"):
        parts += [f"inside {' '.join(_link(network['inside']))}"]
    if varying & _UPLINKS and network.get("hosts_per_group"):
        factor = network.get("oversubscription", 1.0)
        parts += [f"{network['hosts_per_group']} hosts a group"]
        parts += [f"uplinks {factor:g}:1"] if factor != 1 else []
    if "network.in_network_reduction" in varying and network.get("in_network_reduction"):
        parts += ["in-network reduction"]
    return ", ".join(parts)


def _link(link: dict[str, Any]) -> list[str]:
    """Return what is said of a link: its name, and the figures that were written."""
    name = link.get("preset") or link.get("file")
    bandwidth = link.get("bandwidth")
    parts = [name] if name else []
    parts += [show_value(bandwidth)] if bandwidth is not None else []
    known = ((figure, link.get(figure)) for figure in _FIGURES)
    return parts + [f"{figure} {show_value(value)}" for figure, value in known if value is not None]
