"""What is kept of a trial to be evaluated after it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A copy of the parameters for evaluation after the trial.

    `step` counts versions in steps of all workers; `samples` are those trained on by then;
    `seconds` is timed training until then, copying excluded.
    """

    step: int
    samples: int
    seconds: float
    parameters: Any
    """the engine's own kind of flat vector"""
