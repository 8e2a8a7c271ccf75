"""How a process waits for words in its peers' memory, and how it wakes those that wait for its own.

First it looks again and again, giving way to others; then it sleeps in poll(2), until a peer writes
to its eventfd, a peer's socket closes, or its deadline is over.
"""

from numba import njit

from psbench.live.machine.control import (
    ANYONE,
    ASLEEP,
    ASLEEP_FOR,
    BARRIER,
    CHANNELS,
    GAVE_UP,
    LEFT,
)
from psbench.live.machine.intrinsics import (
    clock_gettime,
    fence,
    load,
    load_acquire,
    poll,
    read,
    sched_yield,
    store,
    store_release,
    write,
)

# a context is what a process keeps of its world: words at these positions
RANK, SIZE, DEADLINE_NS, POLLED, BLOCKS, EVENTS, ROOM, CULPRIT, CALLS = range(9)
"""who we are; the longest wait; addresses of: struct pollfd of our eventfd and each peer's socket,
the peers' control blocks, their eventfds, 16 bytes of room; whom an error is about; then, for each
channel, its collectives so far and the steps of all of them"""
CONTEXT_WORDS = CALLS + 2 * CHANNELS

DONE, LOST, LATE, MISMATCH, DISAGREES, HANDED_BACK = range(6)
"""what a wait, or a plan, ended with; DISAGREES is a mismatch that we saw ourselves"""

_LOOKS = 200
_YIELDS = 20
_YIELDING_NS = 2_000_000
_MONOTONIC = 1
_HANG_UP = 0x0008 | 0x0010 | 0x0020  # POLLERR, POLLHUP, POLLNVAL
_NOBODY = 0xFFFFFFFF  # a struct pollfd of fd -1, which poll passes over
_LONGEST_MS = 1000
_GAVE_UP_UNIT = 1 << 32
_ANY_WORD = -1


@njit(nogil=True, cache=True)
def context_word(context, position):
    return load(context + 8 * position)


@njit(nogil=True, cache=True)
def block_of(context, peer):
    """Return the address of a peer's control block."""
    return load(context_word(context, BLOCKS) + 8 * peer)


@njit(nogil=True, cache=True)
def now_ns(context):
    room = context_word(context, ROOM)
    clock_gettime(_MONOTONIC, room)
    return load(room) * 1_000_000_000 + load(room + 8)


@njit(nogil=True, cache=True)
def post(context, offset, value):
    """Set a word of our own block, and wake whoever sleeps for one of ours."""
    rank = context_word(context, RANK)
    store_release(block_of(context, rank) + offset, value)
    _wake(context, offset)


@njit(nogil=True, cache=True)
def give_up(context, status, culprit):
    """Tell all peers why we shall not go on: they give up for the same reason."""
    own = block_of(context, context_word(context, RANK))
    store_release(own + GAVE_UP, status * _GAVE_UP_UNIT + culprit + 1)
    _wake(context, _ANY_WORD)


@njit(nogil=True, cache=True)
def _wake(context, offset):
    """Wake the peers that sleep for our word at `offset`, or all that sleep."""
    fence()  # they say that they sleep before they look a last time; we set the word before we ask
    rank = context_word(context, RANK)
    for peer in range(context_word(context, SIZE)):
        block = block_of(context, peer)
        asleep = load_acquire(block + ASLEEP)
        if asleep == 0:
            continue
        ours = asleep == rank + 1 or asleep == ANYONE
        if offset == _ANY_WORD or (ours and load_acquire(block + ASLEEP_FOR) == offset):
            room = context_word(context, ROOM)
            store(room, 1)
            write(load(context_word(context, EVENTS) + 8 * peer), room, 8)


@njit(nogil=True, cache=True)
def wait(context, peer, offset, value):
    """Wait until the word at `offset` of a peer's block is at least `value`.

    Returns DONE; or LOST, LATE or what a peer gave up for, where the context names the culprit.
    """
    address = block_of(context, peer) + offset
    for _ in range(_LOOKS):
        if load_acquire(address) >= value:
            return DONE
    begun = now_ns(context)
    now = begun
    while now - begun < _YIELDING_NS:
        for _ in range(_YIELDS):
            sched_yield()
            if load_acquire(address) >= value:
                return DONE
        now = now_ns(context)
    return _sleep(context, peer, offset, value, begun)


@njit(nogil=True, cache=True)
def _sleep(context, peer, offset, value, begun):
    address = block_of(context, peer) + offset
    own = block_of(context, context_word(context, RANK))
    until = begun + context_word(context, DEADLINE_NS)
    store_release(own + ASLEEP_FOR, offset)
    store_release(own + ASLEEP_FOR + 8, value)
    store_release(own + ASLEEP, peer + 1)
    fence()
    while load_acquire(address) < value:
        status = _broken(context, peer)
        if status != DONE:
            return status
        if now_ns(context) >= until:
            # who looks for a culprit at this moment must find us still waiting
            store(context + 8 * CULPRIT, _blamed(context, peer))
            return LATE
        _doze(context, until)
    store_release(own + ASLEEP, 0)
    return DONE


@njit(nogil=True, cache=True)
def _doze(context, until):
    """Sleep until something happens or `until` is near."""
    left_ms = (until - now_ns(context)) // 1_000_000 + 1
    polled = context_word(context, POLLED)
    poll(polled, context_word(context, SIZE) + 1, max(0, min(left_ms, _LONGEST_MS)))
    if (load(polled) >> 48) & 1:  # POLLIN on our eventfd
        read(load(polled) & _NOBODY, context_word(context, ROOM), 8)


@njit(nogil=True, cache=True)
def _broken(context, peer):
    """Return DONE, or why the world cannot go on, with the culprit in the context.

    A peer that gave up says why. One whose socket closed without its having left is lost; one that
    left is where it is waited for, as `peer`.
    """
    size, polled = context_word(context, SIZE), context_word(context, POLLED)
    for other in range(size):
        gave_up = load_acquire(block_of(context, other) + GAVE_UP)
        if gave_up != 0:
            store(context + 8 * CULPRIT, gave_up % _GAVE_UP_UNIT - 1)
            return gave_up // _GAVE_UP_UNIT
    lost = -1
    for other in range(size):
        entry = polled + 8 * (other + 1)
        if (load(entry) >> 48) & _HANG_UP:
            if load_acquire(block_of(context, other) + LEFT) == 0:
                lost = other
            store(entry, _NOBODY)
    if lost < 0 and peer >= 0 and load_acquire(block_of(context, peer) + LEFT) != 0:
        lost = peer
    store(context + 8 * CULPRIT, lost)
    return DONE if lost < 0 else LOST


@njit(nogil=True, cache=True)
def _blamed(context, peer):
    """Return who keeps `peer` waiting: the first that does not itself wait for another; -1 where
    that is one that waits for anyone.

    One that sleeps though what it waits for has come is stopped.
    """
    suspect = peer
    for _ in range(context_word(context, SIZE)):
        block = block_of(context, suspect)
        asleep = load_acquire(block + ASLEEP)
        if asleep == ANYONE:
            return -1
        if asleep == 0:
            return suspect
        word = block_of(context, asleep - 1) + load_acquire(block + ASLEEP_FOR)
        if load_acquire(word) >= load_acquire(block + ASLEEP_FOR + 8):
            return suspect
        suspect = asleep - 1
    return peer


@njit(nogil=True, cache=True)
def wait_for_any(context, offset, values, first):
    """Wait until the word at `offset` of any peer's block is at least values[peer].

    Returns the peer, looked for from `first` on in turn; or minus what it ended with, where the
    context names the culprit (of LATE: nobody, -1). `values` is a vector of int64, one a peer.
    """
    begun = now_ns(context)
    until = begun + context_word(context, DEADLINE_NS)
    own = block_of(context, context_word(context, RANK))
    size = context_word(context, SIZE)
    yielding = begun + _YIELDING_NS
    while True:
        peer = _first_ready(context, offset, values, first, size)
        if peer >= 0:
            store_release(own + ASLEEP, 0)
            return peer
        now = now_ns(context)
        if now < yielding:
            sched_yield()
            continue
        if load_acquire(own + ASLEEP) == 0:
            store_release(own + ASLEEP_FOR, offset)
            store_release(own + ASLEEP, ANYONE)
            fence()
            continue  # one that posted before may not have seen it
        status = _broken(context, -1)
        if status != DONE:
            return -status
        if now >= until:
            # who looks for a culprit at this moment must find us still waiting
            store(context + 8 * CULPRIT, -1)
            return -LATE
        _doze(context, until)


@njit(nogil=True, cache=True)
def _first_ready(context, offset, values, first, size):
    rank = context_word(context, RANK)
    for turn in range(size):
        peer = (first + turn) % size
        if peer != rank and load_acquire(block_of(context, peer) + offset) >= values[peer]:
            return peer
    return -1


@njit(nogil=True, cache=True)
def barrier(context, number):
    """Come to our barrier of that number and wait for all others."""
    post(context, BARRIER, number)
    for peer in range(context_word(context, SIZE)):
        status = wait(context, peer, BARRIER, number)
        if status != DONE:
            return status
    return DONE
