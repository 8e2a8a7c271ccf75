"""A model as a clock sees it: how many parameters each layer has, and how long it computes."""

import itertools
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from psbench.network.compute_time import FORWARD_SHARE


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A part of a model whose gradients become known at once.

    It may have no parameters, as a product of activations, or compute next to nothing, as a
    normalisation.
    """

    parameters: int
    flops: int
    """floating-point operations of a forward pass of one sample, two a multiply-add"""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The layers of a model, in the order in which they register their parameters.

    A forward pass takes FORWARD_SHARE of a step's computing, the backward pass the rest. That goes
    from the last layer to the first, and each takes the same share of it as of the operations.
    """

    layers: tuple[Layer, ...]

    @property
    def parameters(self) -> int:
        """Elements of the flat vector."""
        return self._ends[-1]

    @property
    def flops(self) -> int:
        """Floating-point operations of a forward pass of one sample."""
        return self._left[0]

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the parameters of each layer begin that has some."""
        return tuple(sorted({0, *self._ends} - {self.parameters}))

    def share_computed(self, start: int, numel: int) -> float:
        """Return the share of a step's computing after which the gradients from element `start` on
        are known, of the vector's `numel`: that of the layer which `start` is in, and of all after
        it. It takes about a microsecond."""
        assert numel == self.parameters, f"a vector of {numel}, and {self.parameters} parameters"
        backward = self._left[bisect_right(self._ends, start)] / self.flops
        return FORWARD_SHARE + (1.0 - FORWARD_SHARE) * backward

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Where the parameters of each layer end."""
        return tuple(itertools.accumulate(layer.parameters for layer in self.layers))

    @cached_property
    def _left(self) -> tuple[int, ...]:
        """Operations of each layer and all after it, and at last 0."""
        backwards = itertools.accumulate((layer.flops for layer in self.layers[::-1]), initial=0)
        return tuple(backwards)[::-1]
