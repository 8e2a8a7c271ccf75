"""How a trial in virtual time ended, for its summary."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from psbench.results import TrialStatus
from psbench.trial import Checkpoint


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What a simulation knows of a trial in the end. `fields` are more of the summary's own, by
    name; those with an entry a node have ranks first, then servers."""

    status: TrialStatus
    steps: int
    samples: int
    seconds: float
    """of the timed part; so are the samples"""
    checkpoints: Sequence[Checkpoint]
    fields: dict[str, Any] = field(default_factory=dict)
