"""What lies where in the first part of each process's shared memory, its control block.

Offsets in bytes. A word is an int64 and written by one process alone: the owner of the block. Words
that different processes wait on lie on cache lines of their own.
"""

LINE = 64

ASLEEP = 0
"""whom the owner waits for in its sleep: peer + 1, ANYONE, or 0 while it is awake"""
ASLEEP_FOR = 8
"""the word it waits for, as an offset in that peer's block, or anyone's; then the value"""
ANYONE = -1
LEFT = LINE
"""1 once the owner has left the world in good order"""
GAVE_UP = LINE + 8
"""why the owner gave up, and because of whom: status * 2^32 + rank + 1 (0 for nobody alone)"""
BARRIER = 2 * LINE
"""how many barriers the owner has come to"""

CHANNELS = 16
CHANNEL_0 = 4 * LINE
CHANNEL_SIZE = 2 * LINE
"""a channel has two lines, for its collectives in turn: a rank may enter the next one while others
still read what it said of the last"""

GENERATION, STEP, DTYPE, NUMEL, TABLE, VECTOR, SCRATCH = range(7)
"""the words of a header: those of `live.headers.Header`, what tells schedules apart, and where in
the owner's memory its vector and its second buffer lie"""
AGREED = 5
"""the first words of a header, in which all ranks must agree"""
PROGRESS = 7 * 8
"""behind the header, on its line: how far the owner has come in this collective and all before"""

MAILBOXES = CHANNEL_0 + CHANNELS * CHANNEL_SIZE
SLOTS = 32
SLOT_SIZE = 8 * LINE
INLINE = SLOT_SIZE - 16
"""the bytes of a message that go with it; a longer one is read where it lies"""
POSTED = 0
"""within a mailbox: how many messages the owner has posted to the peer"""
TAKEN = LINE
"""within a mailbox: how many messages of the peer the owner has taken"""
FIRST_SLOT = 2 * LINE
MAILBOX_SIZE = FIRST_SLOT + SLOTS * SLOT_SIZE


def header_at(channel: int, call: int) -> int:
    """Return where the header of a channel's `call`-th collective lies."""
    return CHANNEL_0 + channel * CHANNEL_SIZE + call % 2 * LINE


def mailbox_at(channel: int, peer: int, size: int) -> int:
    """Return where the owner's mailbox for a peer lies, in a world of `size`."""
    return MAILBOXES + (channel * size + peer) * MAILBOX_SIZE


def control_size(size: int) -> int:
    """Return the bytes of a control block in a world of `size`, in whole pages."""
    return -(-mailbox_at(CHANNELS, 0, size) // 4096) * 4096
