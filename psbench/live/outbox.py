"""What a server has sent but may not yet have been received."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from psbench.live.transports import Work


@dataclass(eq=False)
class Copy:
    """The parameters of one version, and how many need them as they are: the workers they are on
    the way to, and the pushes that will be compared with them."""

    buffer: Tensor
    version: int
    users: int = 0


@dataclass
class Outbox:
    """Copies of the parameters, one a version, each kept unchanged while it has users.

    So that no reply mixes two versions: the store goes on changing its parameters meanwhile. There
    are never more copies than workers, and `oldest_read` more, where answers may be of so many
    versions before the present one. `allocate` gives memory for one.
    """

    allocate: Callable[[], Tensor]
    oldest_read: int = 0
    _copies: list[Copy] = field(default_factory=list)
    _under_way: dict[int, tuple[Copy, Sequence[Work]]] = field(default_factory=dict)

    def copy(self, parameters: Tensor, version: int) -> Copy:
        """Return the copy of `version`, made from `parameters` if it is the first time."""
        known = self.made(version)
        if known is not None:
            return known
        oldest = version - self.oldest_read
        free = next((c for c in self._copies if not c.users and c.version < oldest), None)
        if free is None:
            free = Copy(buffer=self.allocate(), version=version)
            self._copies.append(free)
        free.buffer.copy_(parameters)
        free.version = version
        return free

    def made(self, version: int) -> Copy | None:
        """Return the copy of `version` if it is still there."""
        return next((known for known in self._copies if known.version == version), None)

    def snapshot(self) -> dict[int, Tensor]:
        """Return the versions that answers may still be of, where those are kept."""
        kept = self._copies if self.oldest_read else ()
        return {copy.version: copy.buffer.clone() for copy in kept}

    def restore(self, versions: Mapping[int, Tensor]) -> None:
        """Take up what `snapshot` gave, with nothing under way."""
        self._copies = []
        for version, parameters in versions.items():
            kept = Copy(buffer=self.allocate(), version=version)
            kept.buffer.copy_(parameters)
            self._copies.append(kept)

    def keep(self, copy: Copy) -> Tensor:
        """Give a copy away for good: it is never written to again."""
        if self.oldest_read:
            return copy.buffer.clone()
        self._copies.remove(copy)
        return copy.buffer

    def sent(self, worker: int, copy: Copy, works: Sequence[Work]) -> None:
        """Note that `copy` is on the way to `worker`."""
        copy.users += 1
        self._under_way[worker] = (copy, works)

    def confirm(self, worker: int) -> Copy | None:
        """Take note that `worker` has what was sent to it last, and return that: it has spoken
        since."""
        copy, works = self._under_way.pop(worker, (None, ()))
        for work in works:
            work.synchronize()
        if copy is not None:
            copy.users -= 1
        return copy
