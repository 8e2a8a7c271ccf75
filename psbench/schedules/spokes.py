"""Everybody straight to an owner, and back: the round that `star`, `direct` and the rails share."""

import numpy as np

from psbench.schedules.schedule import IntArray, Round, uniform_round


def spokes(
    *,
    first: IntArray,
    size: IntArray,
    owner: IntArray,
    start: IntArray,
    stop: IntArray,
    reduce: bool,
) -> Round:
    """Return the round that brings parts of the vector to their owners (`reduce`), or from them.

    Part i is the chunks [start[i], stop[i]). In the group of ranks first[i] .. first[i] + size[i]
    - 1 it belongs to the owner[i]-th; all others of the group send it there, and the owner adds
    them to its own in the ranks' order, beginning behind itself. Without `reduce` the owner sends
    its part to all of them. Arrays have shape (parts,).

    Messages are rotated: in the h-th place of the round's order each owner meets the h-th rank
    behind it. So where each rank owns a part, no two send to one port at the same time.
    """
    hop = np.arange(1, int(size.max()), dtype=np.int64)[:, np.newaxis]
    other = first + (owner + hop) % size
    owners, first_chunk, last_chunk = np.broadcast_arrays(first + owner, start, stop, other)[:3]
    there = np.where(hop < size, last_chunk, first_chunk)
    src, dst = (other, owners) if reduce else (owners, other)
    return uniform_round(
        src=src.ravel(),
        dst=dst.ravel(),
        start=first_chunk.ravel(),
        stop=there.ravel(),
        reduce=reduce,
    )


def spokes_cost(
    num_messages: int,
    nbytes: float,
    *,
    latency: float,
    overhead: float,
    byte_time: float,
    reduce_time: float,
) -> float:
    """Return the seconds until one rank has taken in, or sent out, messages of `nbytes` each.

    With u = overhead + nbytes byte_time (a message on one side of one port) and g = nbytes
    reduce_time, k messages take L + o + u + g + (k - 1) max(u, g): they follow one another without
    a gap, and all but the last are reduced while the next comes in. Sent out, there is no g.
    """
    if num_messages == 0:
        return 0.0
    port = overhead + nbytes * byte_time
    reduction = nbytes * reduce_time
    rest = (num_messages - 1) * max(port, reduction)
    return latency + overhead + port + reduction + rest
