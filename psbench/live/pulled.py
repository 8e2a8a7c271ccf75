"""What the gradients that a server has not settled were computed from."""

from collections.abc import Iterable

from torch import Tensor

from psbench.live.inbox import Key
from psbench.live.outbox import Copy
from psbench.parameter_server import Contribution


class Pulled:
    """The copies of the parameters that workers were answered with, each kept unchanged until the
    push that was computed from it is settled.

    They are those of the outbox, one a version: at most one a worker, and where workers are
    answered before their pushes are settled, at most one for each of those.
    """

    def __init__(self) -> None:
        self._copies: dict[Key, Copy] = {}

    def hold(self, worker: int, seq: int, copy: Copy) -> None:
        """Keep `copy`, which the push of a worker was computed from."""
        copy.users += 1
        self._copies[worker, seq] = copy

    def of(self, push: Contribution) -> Tensor:
        """Return the parameters that a push was computed from, not to be changed."""
        return self._copies[push.worker, push.seq].buffer

    def settled(self, pushes: Iterable[Contribution]) -> None:
        """Take note that what these pushes were computed from is no longer needed."""
        for push in pushes:
            self._copies.pop((push.worker, push.seq)).users -= 1
