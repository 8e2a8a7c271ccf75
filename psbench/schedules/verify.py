"""Prove, without running it, that a schedule is an all-reduce that keeps replicas equal.

For each (rank, chunk) three numbers stand in for the value held there and are moved as it would be:

- the number of contributions in it;
- their fingerprint: the sum (mod 2^64) of one pseudo-random 64-bit weight a rank, whatever the
  order of adding. If the number is right but some contribution is doubled, another one is missing,
  so its weight enters the difference with an odd factor, and the difference is 0 with a chance of
  2^-64: to that degree "each rank exactly once" is certain;
- their association: a hash h(a + b) = mix(h(a) + h(b)), which, as floating-point addition, does not
  change when the operands are swapped but does when the brackets are moved.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psbench.errors import ScheduleError
from psbench.schedules.schedule import BoolArray, IntArray, Round, Schedule

UintArray = npt.NDArray[np.uint64]


def verify(schedule: Schedule) -> None:
    """Raise ScheduleError, with round, rank, chunk and fault, unless `schedule` is an all-reduce.

    At the end every rank must hold every rank's contribution to every chunk exactly once, added in
    the same association on all ranks. On the way every transfer must be well formed, and no
    (rank, chunk) may in one round receive two overwrites, or an overwrite and a reduce. Takes
    about 24 bytes for each (rank, chunk).
    """
    held = _initial(schedule)
    num_rounds = 0
    for num_rounds, round_ in enumerate(schedule.rounds, start=1):
        _check_transfers(schedule, num_rounds - 1, round_)
        _apply(schedule, num_rounds - 1, round_, held)
    _check_complete(schedule, num_rounds, held)
    _check_association(schedule, num_rounds, held)


@dataclass(frozen=True, kw_only=True)
class _Held:
    """What is held at each (rank, chunk): arrays of shape (world * num_chunks,)."""

    count: IntArray
    fingerprint: UintArray
    association: UintArray


def _initial(schedule: Schedule) -> _Held:
    return _Held(
        count=np.ones(schedule.world * schedule.num_chunks, dtype=np.int64),
        fingerprint=np.repeat(_weights(schedule.world), schedule.num_chunks),
        association=np.repeat(
            _mix(np.arange(schedule.world, dtype=np.uint64)), schedule.num_chunks
        ),
    )


def _weights(world: int) -> UintArray:
    return np.random.default_rng(0).integers(2**64, size=world, dtype=np.uint64)


def _mix(x: UintArray) -> UintArray:
    """Return the SplitMix64 hash of each element (Steele, Lea and Flood, OOPSLA 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _check_transfers(schedule: Schedule, index: int, round_: Round) -> None:
    fields = {name: getattr(round_, name) for name in ("src", "dst", "start", "stop", "reduce")}
    shapes = {name: array.shape for name, array in fields.items()}
    if len(set(shapes.values())) > 1 or round_.src.ndim != 1:
        raise ScheduleError(f"round {index}: arrays must be 1-D and of one length, not {shapes}")
    for name, array in fields.items():
        wanted = np.dtype(np.bool_ if name == "reduce" else np.int64)
        if array.dtype != wanted:
            raise ScheduleError(f"round {index}: {name} must be {wanted}, not {array.dtype}")
    src, dst, start, stop = round_.src, round_.dst, round_.start, round_.stop
    world, num_chunks = schedule.world, schedule.num_chunks
    faults = {
        f"src outside ranks 0..{world - 1}": (src < 0) | (src >= world),
        f"dst outside ranks 0..{world - 1}": (dst < 0) | (dst >= world),
        "a rank sends to itself": src == dst,
        "no chunk: start must be below stop": start >= stop,
        f"chunks outside 0..{num_chunks - 1}": (start < 0) | (stop > num_chunks),
    }
    for fault, found in faults.items():
        if found.any():
            i = int(found.argmax())
            raise ScheduleError(
                f"round {index}, transfer {i}, rank {src[i]} -> {dst[i]}, "
                f"chunks [{start[i]}, {stop[i]}): {fault}"
            )


def _apply(schedule: Schedule, index: int, round_: Round, held: _Held) -> None:
    source, target, reduce = _by_chunk(schedule.num_chunks, round_)
    order = np.argsort(target, kind="stable")
    repeated = target[order][1:] == target[order][:-1]
    clash = repeated & ~(reduce[order][1:] & reduce[order][:-1])
    if clash.any():
        rank, chunk = divmod(int(target[order][1:][clash.argmax()]), schedule.num_chunks)
        raise ScheduleError(
            f"round {index}, rank {rank}, chunk {chunk}: two overwrites, or an overwrite and a "
            "reduce, of one chunk in one round; allowed are one overwrite or only reduces"
        )
    # All sends read the values from before the round.
    count, fingerprint = held.count[source], held.fingerprint[source]
    association = held.association[source]
    for layer in _layers(order, repeated):
        copied, added = layer[~reduce[layer]], layer[reduce[layer]]
        at = target[copied]
        held.count[at] = count[copied]
        held.fingerprint[at] = fingerprint[copied]
        held.association[at] = association[copied]
        at = target[added]
        # Saturating: a count beyond the world stays wrong and never wraps around to right.
        held.count[at] = np.minimum(held.count[at] + count[added], schedule.world + 1)
        held.fingerprint[at] += fingerprint[added]
        held.association[at] = _mix(held.association[at] + association[added])


def _by_chunk(num_chunks: int, round_: Round) -> tuple[IntArray, IntArray, BoolArray]:
    """Return a round chunk by chunk: flat (rank, chunk) indices of sources and targets, reduce."""
    length = round_.stop - round_.start
    transfer = np.repeat(np.arange(len(round_)), length)
    first = np.cumsum(length) - length
    chunk = np.arange(len(transfer)) - first[transfer] + round_.start[transfer]
    source = round_.src[transfer] * num_chunks + chunk
    target = round_.dst[transfer] * num_chunks + chunk
    return source, target, round_.reduce[transfer]


def _layers(order: IntArray, repeated: BoolArray) -> list[IntArray]:
    """Split the entries so that layer i holds each target's i-th entry in array order.

    `order` sorts the entries by target, stably; `repeated[i]` says whether `order[i + 1]` has the
    target of `order[i]`. Within a layer targets are unique, so it can be applied at once.
    """
    if not repeated.any():
        return [order]
    position = np.arange(len(order))
    first = np.maximum.accumulate(np.where(np.append(False, repeated), 0, position))
    occurrence = position - first
    by_layer = order[np.argsort(occurrence, kind="stable")]
    return np.split(by_layer, np.cumsum(np.bincount(occurrence))[:-1])


def _check_complete(schedule: Schedule, num_rounds: int, held: _Held) -> None:
    total = _weights(schedule.world).sum(dtype=np.uint64)
    wrong = (held.count != schedule.world) | (held.fingerprint != total)
    if not wrong.any():
        return
    rank, chunk = divmod(int(wrong.argmax()), schedule.num_chunks)
    times = _contributions(schedule, chunk)[rank]
    other = int((times != 1).argmax())
    raise ScheduleError(
        f"after all {num_rounds} rounds, rank {rank}, chunk {chunk}: the contribution of rank "
        f"{other} is there {times[other]:.0f} times, not once"
    )


def _contributions(schedule: Schedule, chunk: int) -> npt.NDArray[np.float64]:
    """Return how often (row) each rank in the end holds (column) each rank's part of `chunk`."""
    times = np.eye(schedule.world)
    for round_ in schedule.rounds:
        here = (round_.start <= chunk) & (chunk < round_.stop)
        src, dst, reduce = round_.src[here], round_.dst[here], round_.reduce[here]
        sent = times[src]
        times[dst[~reduce]] = sent[~reduce]
        np.add.at(times, dst[reduce], sent[reduce])
    return times


def _check_association(schedule: Schedule, num_rounds: int, held: _Held) -> None:
    association = held.association.reshape(schedule.world, schedule.num_chunks)
    differs = association != association[0]
    if differs.any():
        rank, chunk = divmod(int(differs.argmax()), schedule.num_chunks)
        raise ScheduleError(
            f"after all {num_rounds} rounds, rank {rank}, chunk {chunk}: added in another "
            "association than on rank 0, so replicas would drift apart in floating point"
        )
