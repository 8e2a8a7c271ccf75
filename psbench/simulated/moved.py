"""What ranks sent and received."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Moved:
    """Bytes sent and received, messages sent and received, of each node; shape (4, nodes)."""

    counts: IntArray

    @staticmethod
    def none(nodes: int) -> "Moved":
        """Return nothing, of so many nodes."""
        return Moved(np.zeros((4, nodes), dtype=np.int64))

    @staticmethod
    def each(nodes: int, *, messages: int, nbytes: int) -> "Moved":
        """Return as much of each node, sent as received."""
        column = np.array([nbytes, nbytes, messages, messages], dtype=np.int64)
        return Moved(np.repeat(column[:, None], nodes, axis=1))

    def __add__(self, other: "Moved") -> "Moved":
        return Moved(self.counts + other.counts)

    def columns(self) -> dict[str, tuple[int, ...]]:
        """Return the columns of a trial's summary."""
        names = ("bytes_sent", "bytes_received", "messages_sent", "messages_received")
        return {name: tuple(own) for name, own in zip(names, self.counts.tolist(), strict=True)}
