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

CONTEXT, PEER, OURS, THEIRS, POSTED, FOUND, TAKEN, KNOWN, TOLD, AT = range(10)
"""the address of the context; the peer; where our mailbox for it, and its for us, lie; how many
messages we have posted, found and taken, and how many of ours we know it to have taken; the length
of the one found last, and its address"""
BOX_WORDS = 10

IN_THE_SLOT = -1
"""where a message lies that goes with its slot"""
_HEAD = 16


@njit(nogil=True)
def _slot(block, mailbox, number):
    return block + mailbox + FIRST_SLOT + number % SLOTS * SLOT_SIZE


@njit(nogil=True)
def _post(box, nbytes, offset, address, carried):
    """Post a message of `nbytes` at `offset`; its slot takes along the `carried` bytes at
    `address`."""
    context, ours = load(box), load(box + 8 * OURS)
    posted = load(box + 8 * POSTED)
    slot = _slot(block_of(context, context_word(context, RANK)), ours, posted)
    memcpy(slot + _HEAD, address, carried)
    store(slot, nbytes)
    store(slot + 8, offset)
    store(box + 8 * POSTED, posted + 1)
    post(context, ours + control.POSTED, posted + 1)


@njit(nogil=True)
def _find(box):
    """Wait for the peer's next message, and note its length and where it lies; the status."""
    context, peer, theirs = load(box), load(box + 8 * PEER), load(box + 8 * THEIRS)
    found = load(box + 8 * FOUND)
    status = wait(context, peer, theirs + control.POSTED, found + 1)
    if status == DONE:
        block = block_of(context, peer)
        slot = _slot(block, theirs, found)
        offset = load(slot + 8)
        store(box + 8 * TOLD, load(slot))
        store(box + 8 * AT, slot + _HEAD if offset == IN_THE_SLOT else block + offset)
        store(box + 8 * FOUND, found + 1)
    return status


@njit(nogil=True, cache=True)
def send(box, nbytes, address, offset):
    """Post the message of `nbytes` at `address`, which is `offset` in our memory; the slot takes it
    along where that is IN_THE_SLOT. Returns whether it did: not while all slots are taken."""
    posted = load(box + 8 * POSTED)
    if posted - load(box + 8 * KNOWN) >= SLOTS:
        block = block_of(load(box), load(box + 8 * PEER))
        known = load_acquire(block + load(box + 8 * THEIRS) + control.TAKEN)
        store(box + 8 * KNOWN, known)
        if posted - known >= SLOTS:
            return False
    _post(box, nbytes, offset, address, nbytes if offset == IN_THE_SLOT else 0)
    return True


@njit(nogil=True, cache=True)
def await_taken(box, number):
    """Wait until the peer has taken our message of that number, counted from 1; the status."""
    if load(box + 8 * KNOWN) >= number:
        return DONE
    context, peer = load(box), load(box + 8 * PEER)
    word = load(box + 8 * THEIRS) + control.TAKEN
    status = wait(context, peer, word, number)
    if status == DONE:
        store(box + 8 * KNOWN, load_acquire(block_of(context, peer) + word))
    return status


@njit(nogil=True, cache=True)
def done_with(box):
    """Tell the peer that we are done with one more of its messages."""
    taken = load(box + 8 * TAKEN) + 1
    store(box + 8 * TAKEN, taken)
    post(load(box), load(box + 8 * OURS) + control.TAKEN, taken)


@njit(nogil=True, cache=True)
def take_found(box, nbytes, into):
    """Receive the message that was found last to the address `into`; DISAGREES where it is not of
    `nbytes`."""
    if load(box + 8 * TOLD) != nbytes:
        store(load(box) + 8 * CULPRIT, load(box + 8 * PEER))
        return DISAGREES
    memcpy(into, load(box + 8 * AT), nbytes)
    done_with(box)
    return DONE


@njit(nogil=True, cache=True)
def take(box, nbytes, into):
    """Receive the peer's next message, which is of `nbytes`, to the address `into`; the status."""
    status = _find(box)
    return take_found(box, nbytes, into) if status == DONE else status


@njit(nogil=True, cache=True)
def send_letter(box, words, size, nbytes, offset):
    """Post the vector of `nbytes` at `offset` in our memory, with the `size` bytes at `words` in
    its slot; its number. The peer is done with the last one."""
    _post(box, nbytes, offset, words, size)
    return load(box + 8 * POSTED)


@njit(nogil=True, cache=True)
def find_letter(box, words, size):
    """Wait for the peer's next letter, and copy the `size` bytes of its words to `words`; the
    status."""
    status = _find(box)
    if status == DONE:
        context, theirs = load(box), load(box + 8 * THEIRS)
        block = block_of(context, load(box + 8 * PEER))
        memcpy(words, _slot(block, theirs, load(box + 8 * FOUND) - 1) + _HEAD, size)
    return status
