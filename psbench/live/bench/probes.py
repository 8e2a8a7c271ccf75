"""Measuring a link between two ranks: messages there and back, in a row, and adding.

The other ranks of the world take no part. What is seen is what psbench's own code sees of it:
Python and all.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from psbench.live.transports import SHARED_MEMORY, Channel, Transport
from psbench.network import Observation, one_way, reduction, train

_SIZES = (8, 1024, 16 * 1024, 128 * 1024, 1024 * 1024, 8 * 1024 * 1024)
_IN_A_ROW = 8
_REPEATS = 12
_WARM_UP = 2
_CHANNEL = 0


def probe_link(transport: Transport) -> list[Observation]:
    """Return what rank 0 measured with rank 1; nothing on other ranks."""
    found: list[Observation] = []
    if transport.rank < 2:
        for nbytes in _SIZES:
            found += _messages(transport, nbytes)
    if transport.rank > 0:
        return []
    for nbytes in _SIZES[1:]:
        found += _additions(transport, nbytes)
    return found


def _messages(transport: Transport, nbytes: int) -> list[Observation]:
    channel = transport.channel(_CHANNEL)
    buffer = torch.ones(nbytes, dtype=torch.uint8)
    alone = _times(transport.rank, lambda: _there_and_back(channel, transport, buffer))
    row = _times(transport.rank, lambda: _in_a_row(channel, transport, buffer))
    return [
        *(one_way(nbytes, seconds / 2) for seconds in alone),
        *(train(_IN_A_ROW, nbytes, seconds) for seconds in row),
    ]


def _additions(transport: Transport, nbytes: int) -> list[Observation]:
    add = _addition(transport)
    total, part = (torch.ones(nbytes // 4, dtype=torch.float32) for _ in range(2))
    return [reduction(nbytes, seconds) for seconds in _times(0, lambda: add(total, part))]


def _times(rank: int, experiment: Callable[[], object]) -> list[float]:
    """Carry an experiment out a few times; return how long each took, seen from rank 0."""
    seconds = []
    for number in range(_WARM_UP + _REPEATS):
        began = time.perf_counter()
        experiment()
        if rank == 0 and number >= _WARM_UP:
            seconds.append(time.perf_counter() - began)
    return seconds


def _there_and_back(channel: Channel, transport: Transport, buffer: Tensor) -> None:
    other = 1 - transport.rank
    for sender in (0, 1):
        if transport.rank == sender:
            channel.exchange([(other, buffer)], []).synchronize()
        else:
            channel.exchange([], [(other, buffer)]).synchronize()


def _in_a_row(channel: Channel, transport: Transport, buffer: Tensor) -> None:
    other, answer = 1 - transport.rank, buffer[:1].clone()
    messages = [(other, buffer)] * _IN_A_ROW
    if transport.rank == 0:
        channel.exchange(messages, [(other, answer)]).synchronize()
    else:
        channel.exchange([], messages).synchronize()
        channel.exchange([(other, answer)], []).synchronize()


def _addition(transport: Transport) -> Callable[[Tensor, Tensor], object]:
    """Return how the transport's collectives add a part to a total."""
    if transport.name == SHARED_MEMORY:
        from psbench.live.sums import sum_into  # imports numba

        return lambda total, part: sum_into(total, (total, part))
    return lambda total, part: total.add_(part)
