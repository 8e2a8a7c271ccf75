"""How a trial goes, whatever the engine: what its cell names, its timed part, its end."""

from psbench.trial.checkpoint import Checkpoint
from psbench.trial.clock import TrialClock
from psbench.trial.divergence import Divergence
from psbench.trial.end import End
from psbench.trial.plan import Pick, Plan, elements, untrained_numel
from psbench.trial.served_trial import ServedTrial
from psbench.trial.settlement import Settlement

__all__ = [
    "Checkpoint",
    "Divergence",
    "End",
    "Pick",
    "Plan",
    "ServedTrial",
    "Settlement",
    "TrialClock",
    "elements",
    "untrained_numel",
]
