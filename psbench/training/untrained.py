"""Gradients that nobody computes: as many as a task says, and known in the order that it says."""

import torch
from torch import Tensor

from psbench.network import PROFILES
from psbench.parts import even_parts
from psbench.spec import Cell, ProfileTask, Reduce, Sgd, Untrained
from psbench.training.batches import rank_slice
from psbench.training.centre import Centre
from psbench.training.flat import Allocate, copied
from psbench.training.loss import Wrap
from psbench.training.progress import Progress
from psbench.training.store import Store, TorchStore
from psbench.training.tasks import DTYPES
from psbench.trial import untrained_numel

_LAYERS = 100  # of a payload


def _starts(task: Untrained, numel: int) -> tuple[int, ...]:
    """Return where each piece begins whose gradients become known at once."""
    if isinstance(task, ProfileTask):
        return PROFILES[task.profile].starts
    return tuple(even_parts(numel, _LAYERS)[:-1].tolist())


class UntrainedLearner:
    """No model: a buffer, made anew each step, so that only communication is seen.

    A profile's gradients become known layer by layer, a payload's in even parts. A profile has
    samples, which are counted; there are none to look at.
    """

    carried = 0
    digest = ""

    def __init__(self, cell: Cell, task: Untrained, *, rank: int, allocate: Allocate) -> None:
        numel = untrained_numel(task)
        self.gradients = allocate(numel, dtype=DTYPES[task.dtype])
        self.parameters = torch.zeros_like(self.gradients)
        own = rank_slice(cell.global_batch, cell.workers, rank)
        self._samples = own.stop - own.start
        self._starts = _starts(task, numel)[::-1]

    def compute(
        self,
        step: int,
        *,
        reduce: Reduce | None,
        part: int = 0,
        parts: int = 1,
        progress: Progress | None = None,
    ) -> int:
        if part == 0:
            self.gradients.fill_(1.0)
        if progress is not None:
            for start in self._starts:
                progress(start)
        bounds = even_parts(self._samples, parts)
        return int(bounds[part + 1] - bounds[part])

    def distribute(self, wrap: Wrap, world: int) -> None:
        raise AssertionError("no module to wrap")

    def apply(self) -> None:
        return None

    def centre(self, outer: Sgd | None) -> Centre:
        raise AssertionError("nothing is learned that ranks could agree on")

    def store(
        self,
        start: int,
        stop: int,
        *,
        by: Sgd | float | None = None,
        allocate: Allocate = torch.zeros,
    ) -> Store:
        assert by is None, "nothing is learned"
        return TorchStore(copied(self.parameters[start:stop], allocate), None, carried=0)

    def loss(self) -> float:
        return float("nan")

    def evaluate(self, parameters: Tensor) -> tuple[float, float | None]:
        return float("nan"), None
