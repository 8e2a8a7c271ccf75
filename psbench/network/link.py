"""What a message costs: LogGP, with a term for reducing."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Link:
    """The link between any two ranks; one port a rank, each direction apart.

    A message of n bytes takes L + 2 o + n G from its sender's call to its receiver's return. Each
    side's port is busy for o + n G of that: messages one after another follow at that distance.
    Adding n bytes to n bytes takes n gamma.

    Source: Alexandrov, Ionescu, Schauser and Scheiman, "LogGP: incorporating long messages into the
    LogP model", SPAA 1995; here g is o, and gamma is as in Thakur, Rabenseifner and Gropp 2005.
    """

    latency: float
    """L, s: occupies nothing"""
    overhead: float
    """o, s: a message at each side"""
    byte_time: float
    """G, s/B"""
    reduce_time: float
    """gamma, s/B"""

    def costs(self) -> dict[str, float]:
        """Return the parameters by name, as the cost formulas of `schedules` take them."""
        return asdict(self)
