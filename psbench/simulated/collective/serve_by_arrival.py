"""Messages of ranks that have a host each, by when they are ready at their receivers, compiled.

A rank's port out serves its messages in the order in which it enters their rounds, so when they
begin follows from when it enters. Only at a port in do messages of several ranks meet: whichever is
ready first is served first, and then it is known when that is done. So there is one event a
message, and of each rank only its next one is waiting.
"""

from heapq import heappop, heappush

import numpy as np
from numba import njit

from psbench.simulated.collective.serve_round import later

NOTHING = -1
INDEX = np.int32  # of messages and stages: there are less than 2^31 of either

RANK = np.dtype(
    [
        ("collective", INDEX),
        ("stage", INDEX),  # that it is in
        ("place", INDEX),  # of its next message among all those that ranks send
        ("until", INDEX),  # where those of this stage end
        ("waits", np.bool_),  # for what it receives in this stage
        ("entered", float),  # when it entered the stage
        ("done", float),  # when it is done with all it has sent in the stage
    ]
)
"""Where a rank is, s."""

STAGE = np.dtype(
    [
        ("next", INDEX),  # of the same rank and collective
        ("sends", INDEX),  # how many messages
        ("left", INDEX),  # how many are still to come
        ("done", float),  # when the rank is done with those that came
    ]
)
"""A round of a collective in which a rank has messages, s."""


@njit(cache=True)
def stages_of(collective, round_, src, dst, num_collectives, world):
    """Return the stages; the first one of each rank in each collective; the stage of each message
    at its sender and at its receiver; and all messages sender by sender, with where each begins."""
    first = np.full((num_collectives, world), NOTHING, dtype=INDEX)
    stage_of, count = _numbered(collective, round_, src, dst, world)
    stages = np.zeros(count, dtype=STAGE)
    place = np.full(world, NOTHING, dtype=INDEX)
    latest = np.full(world, NOTHING, dtype=INDEX)  # the collective that a rank was in
    begins = np.zeros(world + 1, dtype=INDEX)
    for i in range(len(src)):
        for side in range(2):
            rank, stage = src[i] if side == 0 else dst[i], stage_of[side, i]
            if stage != place[rank]:
                if latest[rank] == collective[i]:
                    stages[place[rank]].next = stage
                else:
                    first[collective[i], rank] = stage
                stages[stage].next = NOTHING
                place[rank], latest[rank] = stage, collective[i]
        stages[stage_of[0, i]].sends += 1
        stages[stage_of[1, i]].left += 1
        begins[src[i] + 1] += 1
    begins = np.cumsum(begins).astype(INDEX)
    by_sender = np.empty(len(src), dtype=INDEX)
    free = begins.copy()
    for i in range(len(src)):
        by_sender[free[src[i]]] = i
        free[src[i]] += 1
    return stages, first, stage_of, by_sender, begins


@njit(cache=True)
def _numbered(collective, round_, src, dst, world):
    """Return the number of the stage of each message at either side, and how many there are."""
    place = np.full(world, NOTHING, dtype=INDEX)
    latest = np.full((world, 2), NOTHING, dtype=np.int64)
    stage_of = np.empty((2, len(src)), dtype=INDEX)
    count = 0
    for i in range(len(src)):
        for side in range(2):
            rank = src[i] if side == 0 else dst[i]
            if latest[rank, 0] != collective[i] or latest[rank, 1] != round_[i]:
                latest[rank, 0], latest[rank, 1] = collective[i], round_[i]
                place[rank] = count
                count += 1
            stage_of[side, i] = place[rank]
    return stage_of, count


@njit(cache=True, inline="always")
def _take(port, ready, overhead, seconds):
    """Have a message that is ready then occupy one side of a port; return when it begins."""
    begin = later(ready, port.free)
    port.free = begin + (overhead + seconds)
    port.busy += overhead + seconds
    port.card_free = begin + seconds
    port.card_busy += seconds
    port.ready = ready
    return begin


@njit(cache=True)
def _enter(rank, own, moment, stages, first, ready, starts, finishes):
    """Have a rank that is done then with what it was at enter its next stage, if there is one."""
    stage = stages[own.stage].next if own.stage != NOTHING else NOTHING
    while stage == NOTHING:
        if own.collective != NOTHING:
            finishes[own.collective, rank] = moment
        own.collective += 1
        if own.collective == len(first):
            break
        moment = later(moment, ready[own.collective, rank])
        starts[own.collective, rank] = moment
        stage = first[own.collective, rank]
    own.stage = stage
    own.entered = own.done = moment
    if stage != NOTHING:
        own.until = own.place + stages[stage].sends


@njit(cache=True)
def serve_by_arrival(
    src, dst, nbytes, reduce, stages, first, into, by_sender, begins, ready,
    ports_out, ports_in, wire, overhead, byte_time, reduce_time,
):  # fmt: skip
    """Serve all messages; return when each rank began each collective, and was done with it.

    `stages` to `begins` are as `stages_of` returns them, `stages` used up; `ready`, shape
    (collectives, world), is when each rank is ready for each. `wire`, above zero, is what is
    between the begins of sending and receiving, s.
    """
    world = first.shape[1]
    starts, finishes = np.empty((2, len(first), world))
    ranks = np.zeros(world, dtype=RANK)
    for rank in range(world):
        own = ranks[rank]
        own.collective = own.stage = NOTHING
        own.place = begins[rank]
        _enter(rank, own, -np.inf, stages, first, ready, starts, finishes)
    arrivals = [(0.0, np.int64(NOTHING)) for _ in range(0)]
    # who may go on: at first all, then whose message has come, and who is done with what came
    going, num_going = np.arange(max(world, 2)), world
    while True:
        for place in range(num_going):
            rank = going[place]
            own = ranks[rank]
            while own.stage != NOTHING:
                if own.place < own.until:
                    i = by_sender[own.place]
                    own.place += 1
                    seconds = nbytes[i] * byte_time
                    begin = _take(ports_out[rank], own.entered, overhead, seconds)
                    own.done = later(own.done, begin + (overhead + seconds))
                    heappush(arrivals, (begin + wire, np.int64(i)))
                    break
                own.waits = stages[own.stage].left > 0
                if own.waits:
                    break
                moment = later(own.done, stages[own.stage].done)
                _enter(rank, own, moment, stages, first, ready, starts, finishes)
        if not arrivals:
            return starts, finishes
        now, i = heappop(arrivals)
        seconds = nbytes[i] * byte_time
        port = ports_in[dst[i]]
        end = _take(port, now, overhead, seconds) + (overhead + seconds)
        if reduce[i]:
            adding = nbytes[i] * reduce_time
            end = later(end, port.adder_free) + adding
            port.adder_free = end
            port.adder_busy += adding
        stage = stages[into[i]]
        stage.done = later(stage.done, end)
        stage.left -= 1
        receiver = ranks[dst[i]]
        done = stage.left == 0 and receiver.waits and receiver.stage == into[i]
        going[0], going[1] = src[i], dst[i]
        num_going = 2 if done else 1
