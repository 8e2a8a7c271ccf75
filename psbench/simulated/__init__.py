"""Virtual time: the same schedules, strategies and server rules, timed by a model of the network
instead of by moving bytes."""

from psbench.simulated.engine import SimulatedEngine
from psbench.simulated.run_trial import run_trial

__all__ = ["SimulatedEngine", "run_trial"]
