"""The store of a shard in torch: also what a rank steps with under all-reduce."""

from collections.abc import Sequence

import torch
from torch import Tensor

from psbench.parameter_server import Correct
from psbench.spec import Adam, Sgd
from psbench.training.optimizers import build_optimizer

_EPS = 1e-6  # of torch.nn.utils.clip_grad_norm_


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

    def read(self) -> Tensor:
        """Return the parameters themselves, shape (numel,)."""
        return self._parameters


def _clipped(gradient: Tensor, longest: float) -> Tensor:
    factor = longest / (float(torch.linalg.vector_norm(gradient)) + _EPS)
    return gradient * factor if factor < 1.0 else gradient
