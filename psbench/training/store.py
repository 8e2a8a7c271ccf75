"""The store of a shard in torch: also what a rank steps with under all-reduce."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from psbench.parameter_server import Correct
from psbench.spec import Adam, Sgd
from psbench.training.optimizers import build_optimizer

_EPS = 1e-6  # of torch.nn.utils.clip_grad_norm_


class Store(Protocol):
    """Flat parameters of a shard, of which the last elements may carry the loss."""

    only_sums: bool
    """Whether all it does is to take the sum of the contributions for its parameters."""

    def apply(
        self,
        contributions: Sequence[Tensor],
        scale: float = 1.0,
        *,
        rate: float = 1.0,
        correct: Correct | None = None,
    ) -> None:
        """Take the contributions in, each of the parameters' shape, their sum times `scale` and
        then made `correct`, at `rate` times the learning rate; the first may be used as scratch
        where there are several."""

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the parameters and of the optimiser's state."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the state that `snapshot` gave."""

    def read(self) -> Tensor:
        """Return the parameters themselves, shape (numel,)."""


class TorchStore:
    """Flat parameters and torch.optim on them.

    `parameters` is updated in place. Its last `carried` elements are no parameters: they take the
    sum of the contributions as it is (the loss travels there). With `optimizer=None` that holds for
    the whole vector: the store then `only_sums`. A gradient whose 2-norm is over `clip_norm` is
    scaled down to that, as by torch.nn.utils.clip_grad_norm_.
    """

    def __init__(
        self,
        parameters: Tensor,
        optimizer: Sgd | Adam | None,
        *,
        carried: int,
        clip_norm: float | None = None,
    ) -> None:
        self._parameters = parameters
        self.only_sums = optimizer is None
        trained = parameters.numel() - carried if optimizer else 0
        self._learned, self._carried = parameters[:trained], parameters[trained:]
        self._optimizer = build_optimizer(optimizer, [self._learned]) if optimizer else None
        self._clip_norm = clip_norm

    def apply(
        self,
        contributions: Sequence[Tensor],
        scale: float = 1.0,
        *,
        rate: float = 1.0,
        correct: Correct | None = None,
    ) -> None:
        """Sum the contributions, each of the parameters' shape, in order, and make one step with
        `scale` times the sum, clipped and then made `correct`, at `rate` times the learning rate.

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
        trained = self._learned.numel()
        if self._optimizer is not None:
            self._step(self._optimizer, total[:trained], rate, correct)
        self._carried.copy_(total[trained:])

    def _step(
        self,
        optimizer: torch.optim.Optimizer,
        gradient: Tensor,
        rate: float,
        correct: Correct | None,
    ) -> None:
        if self._clip_norm is not None:
            gradient = _clipped(gradient, self._clip_norm)
        if correct is not None:
            gradient = correct(gradient, self._learned)
        self._learned.grad = gradient
        (group,) = optimizer.param_groups
        usual = group["lr"]
        group["lr"] = usual * rate  # not the gradient: momentum and Adam remember that
        optimizer.step()
        group["lr"] = usual

    def snapshot(self) -> dict[str, Any]:
        optimizer = copy.deepcopy(self._optimizer.state_dict()) if self._optimizer else None
        return {"parameters": self._parameters.clone(), "optimizer": optimizer}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._parameters.copy_(state["parameters"])
        if self._optimizer is not None:
            self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))

    def read(self) -> Tensor:
        """Return the parameters themselves, shape (numel,)."""
        return self._parameters


class ElasticStore:
    """Flat parameters that each contribution, parameters of a rank, draws the share `alpha` of the
    way to itself: a centre of elastic averaging. The last `carried` elements take its as they are.
    """

    only_sums = False

    def __init__(self, parameters: Tensor, alpha: float, *, carried: int) -> None:
        self._parameters = parameters
        self._alpha = alpha
        self._trained = parameters.numel() - carried

    def apply(
        self,
        contributions: Sequence[Tensor],
        scale: float = 1.0,
        *,
        rate: float = 1.0,
        correct: Correct | None = None,
    ) -> None:
        """Move to each contribution in turn."""
        assert scale == rate == 1.0, "what draws is no share of a sum, and no gradient"
        assert correct is None, "what draws is no gradient"
        trained = slice(0, self._trained)
        for contribution in contributions:
            self._parameters[trained].lerp_(contribution[trained], self._alpha)
        self._parameters[self._trained :] = contributions[-1][self._trained :]

    def snapshot(self) -> dict[str, Any]:
        return {"parameters": self._parameters.clone()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._parameters.copy_(state["parameters"])

    def read(self) -> Tensor:
        """Return the parameters themselves, shape (numel,)."""
        return self._parameters


def _clipped(gradient: Tensor, longest: float) -> Tensor:
    factor = longest / (float(torch.linalg.vector_norm(gradient)) + _EPS)
    return gradient * factor if factor < 1.0 else gradient
