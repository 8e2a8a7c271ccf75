"""Messages between two processes: slots in the sender's block, which the receiver counts through.

A slot holds a message's length and where in the sender's memory it lies, then itself if it is
short. Words of a box are what a process keeps of its messages to and from one peer on one channel.
"""

from numba import njit

from psbench.live.machine import control
from psbench.live.machine.control import FIRST_SLOT, SLOT_SIZE, SLOTS
from psbench.live.machine.intrinsics import load, load_acquire, memcpy, store
from psbench.live.machine.waiting import (
    CULPRIT,
    DISAGREES,
    DONE,
    RANK,
    block_of,
    context_word,
    post,
    wait,
)

CONTEXT, PEER, OURS, THEIRS, POSTED, TAKEN, KNOWN, TOLD, FOUND = range(9)
"""the address of the context; the peer; where our mailbox for it, and its for us, lie; how many
messages we have posted and taken, and how many of ours we know it to have taken; the length of the
message last looked at, and its address"""
BOX_WORDS = 9

IN_THE_SLOT = -1
"""where a message lies that goes with its slot"""
_HEAD = 16


@njit(nogil=True)
def _slot(block, mailbox, number):
    return block + mailbox + FIRST_SLOT + number % SLOTS * SLOT_SIZE


@njit(nogil=True, cache=True)
def send(box, nbytes, address, offset):
    """Post the message of `nbytes` at `address`, which is `offset` in our memory; the slot takes it
    along where that is IN_THE_SLOT. Returns whether it did: not while all slots are taken."""
    context, peer, ours = load(box), load(box + 8 * PEER), load(box + 8 * OURS)
    posted = load(box + 8 * POSTED)
    if posted - load(box + 8 * KNOWN) >= SLOTS:
        known = load_acquire(block_of(context, peer) + load(box + 8 * THEIRS) + control.TAKEN)
        store(box + 8 * KNOWN, known)
        if posted - known >= SLOTS:
            return False
    slot = _slot(block_of(context, context_word(context, RANK)), ours, posted)
    if offset == IN_THE_SLOT:
        memcpy(slot + _HEAD, address, nbytes)
    store(slot, nbytes)
    store(slot + 8, offset)
    store(box + 8 * POSTED, posted + 1)
    post(context, ours + control.POSTED, posted + 1)
    return True


@njit(nogil=True, cache=True)
def await_taken(box, number):
    """Wait until the peer has taken our message of that number, counted from 1; its status."""
    if load(box + 8 * KNOWN) >= number:
        return DONE
    context, peer = load(box), load(box + 8 * PEER)
    word = load(box + 8 * THEIRS) + control.TAKEN
    status = wait(context, peer, word, number)
    if status == DONE:
        store(box + 8 * KNOWN, load_acquire(block_of(context, peer) + word))
    return status


@njit(nogil=True, cache=True)
def find(box, nbytes):
    """Wait for the peer's next message, and note where it lies.

    Returns what the wait ended with, or DISAGREES where the message is not of `nbytes`.
    """
    context, peer, theirs = load(box), load(box + 8 * PEER), load(box + 8 * THEIRS)
    taken = load(box + 8 * TAKEN)
    status = wait(context, peer, theirs + control.POSTED, taken + 1)
    if status != DONE:
        return status
    block = block_of(context, peer)
    slot = _slot(block, theirs, taken)
    store(box + 8 * TOLD, load(slot))
    if load(slot) != nbytes:
        store(context + 8 * CULPRIT, peer)
        return DISAGREES
    offset = load(slot + 8)
    store(box + 8 * FOUND, slot + _HEAD if offset == IN_THE_SLOT else block + offset)
    return DONE


@njit(nogil=True, cache=True)
def done_with(box):
    """Tell the peer that we are done with one more of its messages."""
    taken = load(box + 8 * TAKEN) + 1
    store(box + 8 * TAKEN, taken)
    post(load(box), load(box + 8 * OURS) + control.TAKEN, taken)


@njit(nogil=True, cache=True)
def take(box, nbytes, into):
    """Receive the peer's next message, which is of `nbytes`, to the address `into`; as `find`."""
    status = find(box, nbytes)
    if status == DONE:
        memcpy(into, load(box + 8 * FOUND), nbytes)
        done_with(box)
    return status
