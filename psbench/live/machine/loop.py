"""The loop that runs a plan: one rank's part in a schedule, as `live.lowering` writes it down.

Sums of several sources are formed in registers, in the order of the sources, and stored to all
destinations, so that each source is read once.
"""

from typing import Any

from numba import njit, types

from psbench.live.machine.control import AGREED, PROGRESS, SCRATCH, VECTOR, header_at
from psbench.live.machine.intrinsics import load, memcpy, store, vector_operations
from psbench.live.machine.waiting import (
    CALLS,
    CULPRIT,
    DISAGREES,
    DONE,
    HANDED_BACK,
    RANK,
    SIZE,
    block_of,
    context_word,
    post,
    wait,
)

END, WAIT, POST, MOVE = range(4)
"""instructions: END; WAIT peer value; POST value; MOVE start stop sources destinations, then the
place of each, a rank times 2 plus a buffer. Positions are elements."""

CONTEXT, CHANNEL, KIND, ITEMSIZE, STEPS, CODE, PC, BASES, PLACES, HEADER = range(10)
"""the words of a plan: the address of the context; the channel; the kind of its numbers and their
size; how many steps a call adds to the channel's; the address of the instructions, and the one to
begin with; addresses of room for the address of each (rank, buffer), and of room for those of one
instruction; then the words of our header"""

KINDS = {
    "float32": types.float32,
    "float64": types.float64,
    "int32": types.int32,
    "int64": types.int64,
}
"""The dtypes whose sums the loop forms itself; of others it hands each sum back."""
FOREIGN = -1

_HEADER_WORDS = SCRATCH + 1
_VECTOR_BYTES = 128
_COPY_BYTES = 32768

_header_at = njit(nogil=True)(header_at)


def _summing(kind: Any) -> Any:
    """Return the compiled function that sums ranges of one kind of number."""
    itemsize = kind.bitwidth // 8
    load_all, add_all, store_all = vector_operations(kind, _VECTOR_BYTES)
    load_one, add_one, store_one = vector_operations(kind, itemsize)

    @njit(nogil=True)
    def total(places, num_sources, num_destinations, nbytes):
        """Sum ranges of `nbytes`; their addresses lie at `places`, sources first."""
        whole = nbytes - nbytes % _VECTOR_BYTES
        last = num_sources + num_destinations
        for at in range(0, whole, _VECTOR_BYTES):
            value = load_all(load(places) + at)
            for i in range(1, num_sources):
                value = add_all(value, load_all(load(places + 8 * i) + at))
            for i in range(num_sources, last):
                store_all(load(places + 8 * i) + at, value)
        for at in range(whole, nbytes, itemsize):
            one = load_one(load(places) + at)
            for i in range(1, num_sources):
                one = add_one(one, load_one(load(places + 8 * i) + at))
            for i in range(num_sources, last):
                store_one(load(places + 8 * i) + at, one)

    return total


_sum_float32, _sum_float64, _sum_int32, _sum_int64 = (_summing(kind) for kind in KINDS.values())


@njit(nogil=True)
def _copy(places, num_destinations, nbytes):
    """Copy the first range to the others; to several in parts that stay in the cache."""
    source = load(places)
    if num_destinations == 1:
        memcpy(load(places + 8), source, nbytes)
        return
    for at in range(0, nbytes, _COPY_BYTES):
        part = min(_COPY_BYTES, nbytes - at)
        for i in range(1, 1 + num_destinations):
            memcpy(load(places + 8 * i) + at, source + at, part)


@njit(nogil=True, cache=True)
def combine(kind, places, num_sources, num_destinations, nbytes):
    """Copy or sum ranges of `nbytes`; their addresses lie at `places`, sources first.

    Returns DONE; HANDED_BACK where there is a sum of a kind it does not know.
    """
    if num_sources == 1:
        _copy(places, num_destinations, nbytes)
    elif kind == 0:
        _sum_float32(places, num_sources, num_destinations, nbytes)
    elif kind == 1:
        _sum_float64(places, num_sources, num_destinations, nbytes)
    elif kind == 2:
        _sum_int32(places, num_sources, num_destinations, nbytes)
    elif kind == 3:
        _sum_int64(places, num_sources, num_destinations, nbytes)
    else:
        return HANDED_BACK
    return DONE


@njit(nogil=True)
def _enter(context, plan, header, begun):
    """Say what collective we enter, and that our vector may be read."""
    rank, bases = context_word(context, RANK), load(plan + 8 * BASES)
    for peer in range(context_word(context, SIZE)):
        store(bases + 16 * peer, 0)
    own = block_of(context, rank)
    ours = plan + 8 * HEADER
    store(bases + 16 * rank, own + load(ours + 8 * VECTOR))
    store(bases + 16 * rank + 8, own + load(ours + 8 * SCRATCH))
    for word in range(_HEADER_WORDS):
        store(own + header + 8 * word, load(ours + 8 * word))
    post(context, header + PROGRESS, begun + 1)


@njit(nogil=True)
def _meet(context, plan, header, peer):
    """Hold a peer's header against ours, and note where its vectors lie; DONE or DISAGREES."""
    bases, ours = load(plan + 8 * BASES), plan + 8 * HEADER
    block = block_of(context, peer)
    theirs = block + header
    for word in range(AGREED):
        if load(theirs + 8 * word) != load(ours + 8 * word):
            store(context + 8 * CULPRIT, peer)
            return DISAGREES
    store(bases + 16 * peer, block + load(theirs + 8 * VECTOR))
    store(bases + 16 * peer + 8, block + load(theirs + 8 * SCRATCH))
    return DONE


@njit(nogil=True)
def _move(plan, at):
    """Carry out the MOVE at address `at`; DONE or HANDED_BACK."""
    itemsize = load(plan + 8 * ITEMSIZE)
    first = load(at + 8) * itemsize
    nbytes = load(at + 16) * itemsize - first
    num_sources, num_destinations = load(at + 24), load(at + 32)
    if nbytes == 0:
        return DONE
    bases, places, kind = load(plan + 8 * BASES), load(plan + 8 * PLACES), load(plan + 8 * KIND)
    for i in range(num_sources + num_destinations):
        store(places + 8 * i, load(bases + 8 * load(at + 40 + 8 * i)) + first)
    return combine(kind, places, num_sources, num_destinations, nbytes)


@njit(nogil=True, cache=True)
def run(plan):
    """Run the plan at an address from its PC on; at 0, enter the collective first.

    Returns DONE; what a wait ended with, or DISAGREES, where the context names the culprit; or
    HANDED_BACK, where PC is at a MOVE that the caller is to carry out, to go on behind it.
    """
    context, code, bases = load(plan), load(plan + 8 * CODE), load(plan + 8 * BASES)
    calls = context + 8 * (CALLS + 2 * load(plan + 8 * CHANNEL))
    header, begun = _header_at(load(plan + 8 * CHANNEL), load(calls)), load(calls + 8)
    progress = header + PROGRESS
    at = code + 8 * load(plan + 8 * PC)
    if at == code:
        _enter(context, plan, header, begun)
    status = DONE
    while load(at) != END:
        if load(at) == WAIT:
            peer = load(at + 8)
            status = wait(context, peer, progress, begun + load(at + 16))
            if status == DONE and load(bases + 16 * peer) == 0:
                status = _meet(context, plan, header, peer)
            at += 24
        elif load(at) == POST:
            post(context, progress, begun + load(at + 8))
            at += 16
        else:
            status = _move(plan, at)
            if status == HANDED_BACK:
                store(plan + 8 * PC, (at - code) // 8)
            at += 8 * (5 + load(at + 24) + load(at + 32))
        if status != DONE:
            return status
    store(plan + 8 * PC, 0)
    store(calls, load(calls) + 1)
    store(calls + 8, begun + load(plan + 8 * STEPS))
    return DONE
