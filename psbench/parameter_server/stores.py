"""Where a shard's parameters live; the core decides, a store carries out."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.floating[Any]]


Correct = Callable[[Any, Any], Any]
"""Of a gradient and the parameters it is applied to: the gradient to step with."""


class ShardStore(Protocol):
    """Parameters and optimiser of one shard. `Any` is the store's own kind of flat vector."""

    def apply(
        self,
        contributions: Sequence[Any],
        scale: float = 1.0,
        *,
        rate: float = 1.0,
        correct: Correct | None = None,
    ) -> None:
        """Sum the contributions in the order given and make one optimiser step with `scale` times
        the sum, after it is made `correct`, at `rate` times the optimiser's learning rate.

        Of several vectors the first may be used as scratch: its values are undefined afterwards.
        """

    def read(self) -> Any:
        """Return the parameters of the present version, not to be changed by the caller."""


class NumpyStore:
    """Plain SGD on a numpy vector, for tests of the core and runs without torch."""

    def __init__(self, parameters: Vector, *, lr: float) -> None:
        self._parameters = parameters.copy()
        self._lr = lr

    def apply(
        self,
        contributions: Sequence[Vector],
        scale: float = 1.0,
        *,
        rate: float = 1.0,
        correct: Correct | None = None,
    ) -> None:
        total = contributions[0]
        for contribution in contributions[1:]:
            total = total + contribution
        gradient = scale * total
        if correct is not None:
            gradient = correct(gradient, self._parameters)
        # a fresh vector for each version: what was read before stays as it was
        self._parameters = (self._parameters - self._lr * rate * gradient).astype(
            self._parameters.dtype
        )

    def read(self) -> Vector:
        return self._parameters


class NullStore:
    """Holds nothing: for runs in which only order and time matter."""

    def apply(
        self,
        contributions: Sequence[None],
        scale: float = 1.0,
        *,
        rate: float = 1.0,
        correct: Correct | None = None,
    ) -> None:
        return None

    def read(self) -> None:
        return None
