"""What a rank computes on, as clocks, threads and transports must know it.

A GPU works behind the host's back: a call returns when its work is queued in a stream, and the host
reads a clock or a vector after it has waited for that stream. Computing is queued in the default
stream; communication in one of its own, so that it need not wait for what is computed beside it.
Who hands over from one to the other waits on the host, so the streams need not wait for each other.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from psbench.spec import Cell


class Device:
    """The CPU, or the first GPU that this process sees: Ray shows it those reserved for it."""

    def __init__(self, kind: str = "cpu") -> None:
        """`kind` is "cpu" or "cuda"."""
        self.torch = torch.device("cuda", 0) if kind == "cuda" else torch.device("cpu")
        self._beside = torch.cuda.Stream(self.torch) if kind == "cuda" else None  # type: ignore[no-untyped-call]

    @staticmethod
    def of(cell: Cell) -> "Device":
        """Return what the workers of a cell compute on."""
        return Device(cell.worker_device)

    @property
    def is_cpu(self) -> bool:
        return self._beside is None

    def zeros(self, numel: int, /, *, dtype: torch.dtype) -> Tensor:
        """Return a flat vector of zeros there, shape (numel,)."""
        return torch.zeros(numel, dtype=dtype, device=self.torch)

    def synchronize(self) -> None:
        """Block until the work is done that this thread queued in its present stream."""
        if self._beside is not None:
            torch.cuda.current_stream(self.torch).synchronize()

    def communicating(self) -> AbstractContextManager[object]:
        """Queue, within this context, in the stream of communication."""
        return nullcontext() if self._beside is None else torch.cuda.stream(self._beside)

    def mark(self) -> "torch.cuda.Event | None":
        """Return an event that comes once the work is done that is now in this thread's stream;
        None on the CPU, where it is done already."""
        if self._beside is None:
            return None
        # who waits for it must not spin: its core may be the one that queues what is awaited
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self.torch))
        return event
