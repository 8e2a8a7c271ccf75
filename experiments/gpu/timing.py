"""What a call takes a GPU, by its own clock."""

from collections.abc import Callable

import torch

MIB = 2**20


def milliseconds(call: Callable[[], object], calls: int = 20) -> float:
    """Return what one of so many calls takes, after one to warm up."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    call()
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / calls
