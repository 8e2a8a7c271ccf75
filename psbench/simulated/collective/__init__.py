"""Collectives in virtual time: when each rank has done its part, and what was busy meanwhile.

`reference` is the model, event by event; what is used equals it to the last bit.
"""

from pathlib import Path

from psbench.compiling import kept_by_source

with kept_by_source(Path(__file__).parent):
    from psbench.simulated.collective.simulate import simulate
from psbench.simulated.collective.in_network import simulate_in_network
from psbench.simulated.collective.occupied import Occupied
from psbench.simulated.collective.outcome import Busiest, Outcome
from psbench.simulated.collective.transfers import Collective

__all__ = ["Busiest", "Collective", "Occupied", "Outcome", "simulate", "simulate_in_network"]
