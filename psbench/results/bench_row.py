"""What `psbench bench` tells of one point: an algorithm at one size, over one transport."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchRow:
    """The calls of one point. A call lasts as long as its slowest rank."""

    algorithm: str
    transport: str
    workers: int
    nbytes: int
    """Bytes of the vector that is summed."""
    dtype: str
    calls: int
    """Timed calls; those that warm up are not among them."""
    seconds: float
    """Median over calls."""
    seconds_q1: float
    seconds_q3: float
    algbw: float
    """nbytes / seconds, B/s."""
    busbw: float
    """algbw x 2 (p - 1) / p, B/s, the convention of nccl-tests for an all-reduce of p workers."""
    wrong: int
    """Elements that differ from the exact sum, over all calls and ranks."""
    pinned: bool
    """Whether process r was held to core r mod cores of its host."""
    picked: str | None
    """The algorithm that `auto` stood for; None where one was named."""
    copy_limit_1: float
    """Bytes read and written a second by one process that copies memory, B/s."""
    copy_limit_2: float | None
    """The same of two at once, on two cores; None where there is but one."""
