"""What a server has sent but may not yet have been received."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from psbench.live.transports import Work


@dataclass(eq=False)
class Copy:
    """The parameters of one version, and how many workers they are on the way to."""

    buffer: Tensor
    version: int
    receivers: int = 0


@dataclass
class Outbox:
    """Copies of the parameters, one a version, each kept unchanged until all receivers have it.

    So that no reply mixes two versions: the store goes on changing its parameters meanwhile. There
    are never more copies than workers. `allocate` gives memory for one.
    """

    allocate: Callable[[], Tensor]
    _copies: list[Copy] = field(default_factory=list)
    _under_way: dict[int, tuple[Copy, Sequence[Work]]] = field(default_factory=dict)

    def copy(self, parameters: Tensor, version: int) -> Copy:
        """Return the copy of `version`, made from `parameters` if it is the first time."""
        for known in self._copies:
            if known.version == version:
                return known
        free = next((known for known in self._copies if not known.receivers), None)
        if free is None:
            free = Copy(buffer=self.allocate(), version=version)
            self._copies.append(free)
        free.buffer.copy_(parameters)
        free.version = version
        return free

    def keep(self, copy: Copy) -> Tensor:
        """Give a copy away for good: it is never written to again."""
        self._copies.remove(copy)
        return copy.buffer

    def sent(self, worker: int, copy: Copy, works: Sequence[Work]) -> None:
        """Note that `copy` is on the way to `worker`."""
        copy.receivers += 1
        self._under_way[worker] = (copy, works)

    def confirm(self, worker: int) -> None:
        """Take note that `worker` has what was sent to it last: it has spoken since."""
        copy, works = self._under_way.pop(worker, (None, ()))
        for work in works:
            work.synchronize()
        if copy is not None:
            copy.receivers -= 1
