"""A trial in virtual time whose workers go through servers."""

from psbench.simulated.served.simulation import Served

__all__ = ["Served"]
