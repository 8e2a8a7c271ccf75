"""A round of messages, each port in the order of the schedule, compiled."""

from numba import njit


@njit(cache=True)
def serve_round(
    src, dst, start, stop, reduce, bounds, entered, done,
    free, card_free, busy, bytes_busy, latest, wire, overhead, byte_time, reduce_time,
):  # fmt: skip
    """Serve a round; see `in_order.Ports`. All of shape (ports,) or (2 or 3, ports), in seconds."""
    done[:] = entered
    for i in range(len(src)):
        nbytes = bounds[stop[i]] - bounds[start[i]]
        if nbytes == 0:
            continue
        sender, receiver = src[i], dst[i]
        seconds = nbytes * byte_time
        hold = overhead + seconds
        if entered[sender] < latest[0, sender]:
            return False
        latest[0, sender] = entered[sender]
        begin = max(entered[sender], free[0, sender])
        free[0, sender] = begin + hold
        card_free[0, sender] = begin + seconds
        busy[0, sender] += hold
        bytes_busy[0, sender] += seconds
        done[sender] = max(done[sender], begin + hold)
        ready = begin + wire
        if ready <= latest[1, receiver] and (ready < latest[1, receiver] or ready == begin):
            return False  # a message that takes no time may come of one that is behind it
        latest[1, receiver] = ready
        begin = max(ready, free[1, receiver])
        end = begin + hold
        free[1, receiver] = end
        card_free[1, receiver] = begin + seconds
        busy[1, receiver] += hold
        bytes_busy[1, receiver] += seconds
        if reduce[i]:
            adding = nbytes * reduce_time
            end = max(end, free[2, receiver]) + adding
            free[2, receiver] = end
            busy[2, receiver] += adding
        done[receiver] = max(done[receiver], end)
    entered[:] = done
    return True
