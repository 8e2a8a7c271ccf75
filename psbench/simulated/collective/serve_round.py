"""A round of messages, each port in the order of the schedule, compiled."""

import numpy as np
from numba import njit

PORT = np.dtype(
    [
        ("free", float),  # from when on
        ("busy", float),  # for how long it was
        ("card_free", float),
        ("card_busy", float),
        ("ready", float),  # when the last message was, -inf if there was none
        ("adder_free", float),  # of a port in
        ("adder_busy", float),
    ]
)
"""One side of a rank's port, with the card that it has to itself, s: what is used together lies
together, which halves the time of 16,384 ranks."""


@njit(cache=True, inline="always")
def later(one, other):
    """Return the later of two moments; `max` would look for NaN."""
    return one if one > other else other


@njit(cache=True)
def serve_round(
    src, dst, start, stop, reduce, bounds, entered, done, ports_out, ports_in,
    wire, overhead, byte_time, reduce_time,
):  # fmt: skip
    """Serve a round; see `ports.Ports`. False where messages at a port are not ready in the
    order of the schedule.

    `entered` and `done`, shape (world,): when each rank enters the round, and after it the next;
    `done` is scratch. `wire` is what is between the begins of sending and receiving, s.
    """
    done[:] = entered
    for i in range(len(src)):
        # unsigned: no index is counted from the end
        nbytes = bounds[np.uintp(stop[i])] - bounds[np.uintp(start[i])]
        if nbytes == 0:
            continue
        sender, receiver = np.uintp(src[i]), np.uintp(dst[i])
        seconds = nbytes * byte_time
        hold = overhead + seconds
        port = ports_out[sender]  # those of its messages are ready in order: it enters in order
        begin = later(entered[sender], port.free)
        port.free = begin + hold
        port.busy += hold
        port.card_free = begin + seconds
        port.card_busy += seconds
        port.ready = entered[sender]
        done[sender] = later(done[sender], begin + hold)
        ready = begin + wire
        port = ports_in[receiver]
        if ready <= port.ready and (ready < port.ready or ready == begin):
            return False  # a message that takes no time may come of one that is behind it
        port.ready = ready
        begin = later(ready, port.free)
        end = begin + hold
        port.free = end
        port.busy += hold
        port.card_free = begin + seconds
        port.card_busy += seconds
        if reduce[i]:
            adding = nbytes * reduce_time
            end = later(end, port.adder_free) + adding
            port.adder_free = end
            port.adder_busy += adding
        done[receiver] = later(done[receiver], end)
    entered[:] = done
    return True
