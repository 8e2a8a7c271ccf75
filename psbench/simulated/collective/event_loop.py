"""The model of `reference`, compiled: one heap of events, and one queue a rank, side and way.

A message goes one of three ways: inside its host, between hosts of a group, or between groups. On
one side those of one rank and one way need the same resources, so of each queue only the first can
be the next to begin. Ranks that may need the same resource are an island.
"""

from heapq import heappop, heappush

import numpy as np
from numba import njit

SEND, RECEIVE = 0, 1
INSIDE, BETWEEN_HOSTS, BETWEEN_GROUPS = range(3)
NOTHING = -1

_BEGIN, _DONE, _ARRIVE, _WAKE_SENDERS, _WAKE_RECEIVERS = range(5)
_KINDS = 5


@njit(cache=True)
def _append(first, last, following, ready, queue, message):
    """Put a message, ready now, behind those that were ready before it and, of those that are ready
    now, behind the ones with lower numbers."""
    tail = last[queue]
    if tail == NOTHING or ready[tail] < ready[message] or tail < message:
        following[message] = NOTHING
        if tail == NOTHING:
            first[queue] = message
        else:
            following[tail] = message
        last[queue] = message
        return
    before, at = NOTHING, first[queue]
    while ready[at] < ready[message] or at < message:
        before, at = at, following[at]
    following[message] = at
    if before == NOTHING:
        first[queue] = message
    else:
        following[before] = message


@njit(cache=True)
def _call(calling, calls, num_calls, side, island):
    """Have an island looked at on one side, once, when all that happens now has happened."""
    if not calling[side, island]:
        calling[side, island] = True
        calls[side, num_calls[side]] = island
        num_calls[side] += 1


@njit(cache=True)
def _wake_when_free(heap, free, ranks):
    """Have each island looked at when what is busy at first becomes free."""
    port_free, card_free, uplink_free, _ = free
    host, group, island = ranks
    earliest = heap[0][0]
    for side in range(2):
        wake = _WAKE_SENDERS if side == SEND else _WAKE_RECEIVERS
        for rank in range(len(host)):
            for moment in (
                port_free[side, rank],
                card_free[side, host[rank]],
                uplink_free[side, group[rank]],
            ):
                if moment > earliest:
                    heappush(heap, (moment, island[rank] * _KINDS + wake))


@njit(cache=True)
def run(messages, stages, nodes, ranks, islands, free, uplink_share, in_turn):
    """Let time go on until nothing is left to happen; see `compiled` for what is what.

    `free` is from when on each resource is free at first; it is brought up to date. Return when
    each node began and finished, and how long each resource was busy, a side.
    """
    src, dst, way, hold, seconds, wire, adding, from_stage, into_stage = messages
    stage_node, next_stage, left, sends, sends_from = stages
    first_stage, node_ready = nodes
    host, group, island = ranks
    members, members_from = islands
    world = len(host)
    shared = len(members_from) - 1 < world

    port_free, card_free, uplink_free, adder_free = free
    port_busy, card_busy, uplink_busy, adder_busy = (
        np.zeros_like(port_free),
        np.zeros_like(card_free),
        np.zeros_like(uplink_free),
        np.zeros_like(adder_free),
    )
    starts = np.full(len(node_ready), np.nan)
    finishes = np.full(len(node_ready), np.nan)
    entered = np.zeros(len(left), dtype=np.bool_)
    ready = np.zeros(len(src))
    following = np.full(len(src), NOTHING)
    first = np.full(6 * world, NOTHING)
    last = np.full(6 * world, NOTHING)
    calling = np.zeros((2, len(members_from) - 1), dtype=np.bool_)
    calls = np.zeros((2, len(members_from) - 1), dtype=np.int64)
    num_calls = np.zeros(2, dtype=np.int64)

    heap = [(node_ready[0], _BEGIN)]
    for node in range(1, len(node_ready)):
        if node < world or not in_turn:
            heappush(heap, (node_ready[node], node * _KINDS + _BEGIN))
    _wake_when_free(heap, free, ranks)
    while heap:
        now = heap[0][0]
        while heap and heap[0][0] == now:
            code = heappop(heap)[1]
            kind, number = code % _KINDS, code // _KINDS
            node, stage = NOTHING, NOTHING
            if kind == _BEGIN:
                node, stage = number, first_stage[number]
                starts[node] = now
            elif kind == _DONE:
                left[number] -= 1
                own = island[stage_node[number] % world]
                for side in range(2):
                    _call(calling, calls, num_calls, side, own)
                if entered[number] and left[number] == 0:
                    node, stage = stage_node[number], next_stage[number]
            else:
                side = SEND if kind == _WAKE_SENDERS else RECEIVE
                own = number
                if kind == _ARRIVE:
                    own = island[dst[number]]
                    ready[number] = now
                    queue = (RECEIVE * world + dst[number]) * 3 + way[number]
                    _append(first, last, following, ready, queue, number)
                _call(calling, calls, num_calls, side, own)
            while node != NOTHING:
                if stage == NOTHING:
                    finishes[node] = now
                    later = node + world
                    if in_turn and later < len(node_ready):
                        heappush(heap, (max(now, node_ready[later]), later * _KINDS + _BEGIN))
                    break
                entered[stage] = True
                own = island[node % world]
                for place in range(sends_from[stage], sends_from[stage + 1]):
                    message = sends[place]
                    ready[message] = now
                    queue = (SEND * world + src[message]) * 3 + way[message]
                    _append(first, last, following, ready, queue, message)
                _call(calling, calls, num_calls, SEND, own)
                if left[stage] > 0:
                    break
                stage = next_stage[stage]

        for side in range(2):
            for call in range(num_calls[side]):
                own = calls[side, call]
                calling[side, own] = False
                while True:
                    best, best_queue = NOTHING, NOTHING
                    for place in range(members_from[own], members_from[own + 1]):
                        rank = members[place]
                        if port_free[side, rank] > now:
                            continue
                        for one_way in range(3):
                            queue = (side * world + rank) * 3 + one_way
                            message = first[queue]
                            if (
                                message == NOTHING
                                or (one_way != INSIDE and card_free[side, host[rank]] > now)
                                or (
                                    one_way == BETWEEN_GROUPS
                                    and uplink_free[side, group[rank]] > now
                                )
                            ):
                                continue
                            if (
                                best == NOTHING
                                or ready[message] < ready[best]
                                or (ready[message] == ready[best] and message < best)
                            ):
                                best, best_queue = message, queue
                    if best == NOTHING:
                        break
                    first[best_queue] = following[best]
                    if following[best] == NOTHING:
                        last[best_queue] = NOTHING
                    rank = src[best] if side == SEND else dst[best]
                    wake = _WAKE_SENDERS if side == SEND else _WAKE_RECEIVERS
                    port_free[side, rank] = now + hold[best]
                    port_busy[side, rank] += hold[best]
                    if way[best] != INSIDE:
                        card_free[side, host[rank]] = now + seconds[best]
                        card_busy[side, host[rank]] += seconds[best]
                        if shared:
                            heappush(heap, (now + seconds[best], own * _KINDS + wake))
                    if way[best] == BETWEEN_GROUPS:
                        share = seconds[best] * uplink_share
                        uplink_free[side, group[rank]] = now + share
                        uplink_busy[side, group[rank]] += share
                        heappush(heap, (now + share, own * _KINDS + wake))
                    done = now + hold[best]
                    if side == SEND:
                        heappush(heap, (now + wire[best], best * _KINDS + _ARRIVE))
                        heappush(heap, (done, from_stage[best] * _KINDS + _DONE))
                        continue
                    if adding[best] >= 0.0:
                        heappush(heap, (done, own * _KINDS + wake))
                        done = max(done, adder_free[rank]) + adding[best]
                        adder_free[rank] = done
                        adder_busy[rank] += adding[best]
                    heappush(heap, (done, into_stage[best] * _KINDS + _DONE))
            num_calls[side] = 0
    return starts, finishes, port_busy, card_busy, uplink_busy, adder_busy
