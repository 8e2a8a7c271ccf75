"""A rank's copy of what ranks agree on that train by themselves in between."""

import math

import torch
from torch import Tensor

from psbench.spec import Sgd
from psbench.training.store import TorchStore
from psbench.trial import Divergence


class Centre:
    """A copy of flat `parameters`, which `outer` steps, where it is stepped here.

    All vectors are 1-D, of one length and dtype; `gradients` carries what is summed over the ranks.
    The last `carried` elements hold the loss; there is one at least. `share` is how much of the
    global batch is the rank's slice.
    """

    def __init__(
        self,
        parameters: Tensor,
        gradients: Tensor,
        outer: Sgd | None,
        *,
        carried: int,
        share: float,
    ) -> None:
        self.parameters = parameters.clone()
        self._rank = parameters
        self._gradients = gradients
        self._trained = parameters.numel() - carried
        self._share = share
        self._store = TorchStore(self.parameters, outer, carried=carried)
        self._divergence = Divergence()
        self._diverged = False

    def watch(self) -> None:
        """Look at the loss of a step that the rank made by itself."""
        self._diverged = self._divergence.seen_in(float(self._rank[-1]))

    def outer_gradient(self) -> None:
        """Set the gradients, as the command `strategies.OuterGradient` says."""
        torch.sub(self.parameters, self._rank, out=self._gradients)
        self._send_loss()
        self._gradients.mul_(self._share)

    def offer(self) -> None:
        """Set the gradients, as the command `strategies.Offer` says."""
        self._gradients.copy_(self._rank)
        self._send_loss()

    def apply(self) -> None:
        """Make a step of the centre with the summed gradients."""
        self._store.apply([self._gradients])
        self.tell_loss()

    def tell_loss(self) -> None:
        """The centre is another: its loss is that of the rank's parameters, too."""
        self._rank[self._trained :] = self.parameters[self._trained :]

    def draw(self, rate: float) -> None:
        """Move the rank's parameters the share `rate` of their way to the centre."""
        trained = slice(0, self._trained)
        self._rank[trained].lerp_(self.parameters[trained], rate)

    def _send_loss(self) -> None:
        self._gradients[self._trained :] = math.inf if self._diverged else self._rank[-1]
