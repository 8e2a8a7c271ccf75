"""The store of a shard in torch: also what a rank steps with under all-reduce."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from psbench.spec import Adam, Sgd
from psbench.training.optimizers import build_optimizer


class TorchStore:
    """Flat parameters and torch.optim on them.

    `parameters` is updated in place. Its last `carried` elements are no parameters: they take the
    sum of the contributions as it is (the loss travels there). With `optimizer=None` that holds for
    the whole vector: the store then `only_sums`.
    """

    def __init__(self, parameters: Tensor, optimizer: Sgd | Adam | None, *, carried: int) -> None:
        self._parameters = parameters
        self.only_sums = optimizer is None
        trained = parameters.numel() - carried if optimizer else 0
        self._learned, self._carried = parameters[:trained], parameters[trained:]
        self._optimizer = build_optimizer(optimizer, [self._learned]) if optimizer else None

    def apply(self, contributions: Sequence[Tensor], scale: float = 1.0) -> None:
        """Sum the contributions, each of the parameters' shape, in order, and make one step with
        `scale` times the sum.

        The first contribution is used for the sum, where there are several. A store that only sums
        may be given the very parameters, with the sum in them.
        """
        total = contributions[0]
        if total is self._parameters:
            return
        for contribution in contributions[1:]:
            total.add_(contribution)
        if scale != 1.0:
            total = total * scale  # one that is alone may be somebody's own
        if self._optimizer is not None:
            self._learned.grad = total[: self._learned.numel()]
            self._optimizer.step()
        self._carried.copy_(total[self._learned.numel() :])

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the parameters and of the optimiser's state."""
        optimizer = copy.deepcopy(self._optimizer.state_dict()) if self._optimizer else None
        return {"parameters": self._parameters.clone(), "optimizer": optimizer}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the state that `snapshot` gave."""
        self._parameters.copy_(state["parameters"])
        if self._optimizer is not None:
            self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))

    def read(self) -> Tensor:
        """Return the parameters themselves, shape (numel,)."""
        return self._parameters
