"""A round of messages that share cards and uplinks, in the order of the schedule, compiled.

A message may need several resources at once, and while it waits for one another is kept free for
it. `reference` lets any message that is ready meanwhile take that one; so then order is not kept,
and it is seen: no message may be ready before the begin of one that kept something free for longer
than it had to be.
"""

import numpy as np
from numba import njit

from psbench.simulated.collective.serve_round import later

SEND, RECEIVE = 0, 1

RESOURCE = np.dtype(
    [
        ("free", float),  # from when on
        ("busy", float),  # for how long it was
        ("ready", float),  # when the last message was, -inf if there was none
        ("kept", float),  # until when it was idle for a message that waited for another, or -inf
    ]
)
"""One side of a port, a card or an uplink, s."""


@njit(cache=True, inline="always")
def _in_order(resource, ready):
    """Return whether a message that is ready then is served after all those before it."""
    return ready >= resource.ready and ready >= resource.kept


@njit(cache=True, inline="always")
def _take(resource, ready, begin, seconds):
    """Have a message occupy a resource."""
    if begin > ready and begin > resource.free:
        resource.kept = begin
    resource.ready = ready
    resource.free = begin + seconds
    resource.busy += seconds


@njit(cache=True)
def _begin(port, card, uplink, ready, hold, seconds, share, leaves_host, leaves_group):
    """Have a message begin on one side, and return when; NaN where that is not in order."""
    begin = later(ready, port.free)
    in_order = _in_order(port, ready)
    if leaves_host:
        begin = later(begin, card.free)
        in_order &= _in_order(card, ready)
    if leaves_group:
        begin = later(begin, uplink.free)
        in_order &= _in_order(uplink, ready)
    if not in_order:
        return np.nan
    _take(port, ready, begin, hold)
    if leaves_host:
        _take(card, ready, begin, seconds)
    if leaves_group:
        _take(uplink, ready, begin, share)
    return begin


@njit(cache=True)
def serve_shared_round(
    src, dst, start, stop, reduce, bounds, entered, done, ports, cards, uplinks, adders,
    hosts, groups, inside, between, uplink_share,
):  # fmt: skip
    """Serve a round; see `shared_ports.SharedPorts`. False where messages are not served in the
    order of the schedule.

    `entered` and `done` as for `serve_round`; `inside` and `between` are what a message of each
    link costs: L + o, o, G and gamma.
    """
    done[:] = entered
    for i in range(len(src)):
        nbytes = bounds[np.uintp(stop[i])] - bounds[np.uintp(start[i])]
        if nbytes == 0:
            continue
        sender, receiver = np.uintp(src[i]), np.uintp(dst[i])
        from_host, to_host = hosts[sender], hosts[receiver]
        from_group, to_group = groups[sender], groups[receiver]
        ways = from_host != to_host, from_group != to_group
        wire, overhead, byte_time, reduce_time = between if ways[0] else inside
        seconds = nbytes * byte_time
        hold = overhead + seconds
        share = seconds * uplink_share
        began = _begin(
            ports[SEND, sender], cards[SEND, from_host], uplinks[SEND, from_group],
            entered[sender], hold, seconds, share, ways[0], ways[1],
        )  # fmt: skip
        done[sender] = later(done[sender], began + hold)
        begin = _begin(
            ports[RECEIVE, receiver], cards[RECEIVE, to_host], uplinks[RECEIVE, to_group],
            began + wire, hold, seconds, share, ways[0], ways[1],
        )  # fmt: skip
        if np.isnan(begin):  # so it is, too, where sending is not in order
            return False
        end = begin + hold
        if reduce[i]:
            adder = adders[receiver]
            adding = nbytes * reduce_time
            end = later(end, adder.free) + adding
            adder.free = end
            adder.busy += adding
        done[receiver] = later(done[receiver], end)
    entered[:] = done
    return True
