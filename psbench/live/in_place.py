"""A rank's part in a schedule over shared memory: one plan, which compiled code runs."""

import zlib

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psbench.live.counters import Counters
from psbench.live.headers import Header, dtype_code
from psbench.live.lowering import Lowered, Move, lower
from psbench.live.machine import control, loop, waiting
from psbench.live.sums import kind_of, sum_into
from psbench.live.transports.shared_memory import SharedMemoryTransport
from psbench.parts import even_parts
from psbench.schedules import Schedule, traffic

_MOVE_HEAD = 5


class InPlaceCollective:
    """One rank's moves of a schedule, for vectors of `numel` elements of one dtype at a time.

    A vector that `allocate` gave is summed where it is; any other is copied to such a one and back.
    """

    def __init__(
        self, schedule: Schedule, transport: SharedMemoryTransport, *, numel: int, channel: int
    ) -> None:
        self.numel = numel
        self._world = transport.world
        self._transport = transport
        self._schedule = schedule
        self._channel = channel
        self._lowered = lower(schedule)
        self._code = code_of(self._lowered, transport.rank, even_parts(numel, schedule.num_chunks))
        self._bases = np.zeros(2 * transport.size, dtype=np.int64)
        self._places = np.zeros(most_places(self._lowered, transport.rank), dtype=np.int64)
        self._plan = np.zeros(loop.HEADER + control.SCRATCH + 1, dtype=np.int64)
        self._address = self._plan.ctypes.data
        self._dtype: torch.dtype | None = None
        self._registered: Tensor | None = None
        self._known: Tensor | None = None
        self._pointer = 0
        self._said: Header | None = None
        self._moved = Counters()

    def run(self, vector: Tensor, header: Header, counters: Counters) -> None:
        """Sum `vector`, 1-D of `numel` elements, over all ranks in place.

        `header` says what this call is and is held against every sender's. Raises Mismatch,
        PeerLost, PeerTimeout; the vector's values are then undefined.
        """
        if vector is not self._known or vector.data_ptr() != self._pointer:
            self._know(vector)
        if header is not self._said:
            self._say(header)
        if self._registered is not None:
            self._registered.copy_(vector)
        if self._world.closed:
            self._world.check_open()
        status = loop.run(self._address)
        if status != waiting.DONE:
            self._go_on(status)
        if self._registered is not None:
            vector.copy_(self._registered)
        counters.include(self._moved)

    def _prepare(self, dtype: torch.dtype) -> None:
        """Lay the plan out for vectors of a dtype."""
        self._dtype = dtype
        self._moved = moved_by(
            self._lowered, self._schedule, self._transport.rank, self.numel, dtype.itemsize
        )
        self._second = None
        if self._lowered.renamed:
            self._second = self._transport.allocate(self.numel, dtype=dtype)
        for word, value in (
            (loop.CONTEXT, self._world.context),
            (loop.CHANNEL, self._channel),
            (loop.KIND, kind_of(dtype)),
            (loop.ITEMSIZE, dtype.itemsize),
            (loop.STEPS, self._lowered.length + 1),
            (loop.CODE, self._code.ctypes.data),
            (loop.BASES, self._bases.ctypes.data),
            (loop.PLACES, self._places.ctypes.data),
            (loop.HEADER + control.TABLE, fingerprint(self._schedule)),
            (loop.HEADER + control.SCRATCH, self._offset(self._second)),
        ):
            self._plan[word] = value

    def _know(self, vector: Tensor) -> None:
        """Note where a vector lies, or where it is copied to: what a call need not do again."""
        assert vector.shape == (self.numel,)
        if vector.dtype != self._dtype:
            self._prepare(vector.dtype)
        self._registered = None
        if not vector.is_contiguous() or self._world.arena.offset(vector) is None:
            self._registered = self._transport.allocate(self.numel, dtype=vector.dtype)
        own = vector if self._registered is None else self._registered
        self._plan[loop.HEADER + control.VECTOR] = self._offset(own)
        self._known, self._pointer = vector, vector.data_ptr()

    def _offset(self, vector: Tensor | None) -> int:
        offset = None if vector is None else self._world.arena.offset(vector)
        return 0 if offset is None else offset

    def _say(self, header: Header) -> None:
        plan = self._plan
        plan[loop.HEADER + control.GENERATION] = header.generation
        plan[loop.HEADER + control.STEP] = header.step
        plan[loop.HEADER + control.DTYPE] = dtype_code(header.dtype)
        plan[loop.HEADER + control.NUMEL] = header.numel
        self._said = header

    def _go_on(self, status: int) -> None:
        """End what the compiled loop did not: sums handed back, and errors."""
        while status == waiting.HANDED_BACK:
            self._plan[loop.PC] = self._sum_by_torch(int(self._plan[loop.PC]))
            status = loop.run(self._address)
        if status == waiting.DISAGREES:
            self._complain(self._world.culprit)
        self._world.check(status, "in a collective")

    def _sum_by_torch(self, pc: int) -> int:
        """Carry out the MOVE at instruction `pc`; return the instruction behind it."""
        words: list[int] = self._code[pc + 1 : pc + _MOVE_HEAD].tolist()
        start, stop, num_sources, num_destinations = words
        after = pc + _MOVE_HEAD + num_sources + num_destinations
        ranges = [
            self._range(place, start, stop)
            for place in self._code[pc + _MOVE_HEAD : after].tolist()
        ]
        total = torch.empty_like(ranges[0])
        sum_into(total, ranges[:num_sources])
        for target in ranges[num_sources:]:
            target.copy_(total)
        return after

    def _range(self, place: int, start: int, stop: int) -> Tensor:
        assert self._dtype is not None
        memory = self._world.memories[place // 2]
        offset = int(self._bases[place]) - memory.address + start * self._dtype.itemsize
        return memory.tensor(offset, stop - start, self._dtype)

    def _complain(self, peer: int) -> None:
        """Raise Mismatch for a peer that says something else of this collective than we do."""
        ours = self._plan[loop.HEADER : loop.HEADER + control.AGREED].tolist()
        theirs = self._world.header(peer, self._channel, control.AGREED)
        self._world.give_up(waiting.MISMATCH, peer)
        name = self._world.names[peer]
        Header.of(theirs[: control.TABLE]).check(Header.of(ours[: control.TABLE]), name)
        self._world.disagree(peer, "runs another schedule; give all ranks the same")


def code_of(lowered: Lowered, rank: int, bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return what `rank` does as instructions of `machine.loop`, for chunks of these bounds.

    A rank's counter is 1 when it has entered, and n + 2 when its move n is done.
    """
    words: list[int] = []
    for step in lowered.steps[rank]:
        if isinstance(step, Move):
            places = [*step.sources, *step.destinations]
            words += [loop.MOVE, int(bounds[step.start]), int(bounds[step.stop])]
            words += [len(step.sources), len(step.destinations)]
            words += [2 * place.rank + place.buffer for place in places]
            if (rank, step.number) in lowered.awaited:
                words += [loop.POST, step.number + 2]
        else:
            words += [loop.WAIT, step.peer, step.number + 2]
    return np.array([*words, loop.END], dtype=np.int64)


def most_places(lowered: Lowered, rank: int) -> int:
    """Return the sources and destinations of that move of `rank` which has most."""
    moves = (step for step in lowered.steps[rank] if isinstance(step, Move))
    return max((len(move.sources) + len(move.destinations) for move in moves), default=0)


def moved_by(
    lowered: Lowered, schedule: Schedule, rank: int, numel: int, itemsize: int
) -> Counters:
    """Return what a call moves from and to a rank's memory: bytes as the moves have it, whoever
    carries them out, messages as the schedule has it."""
    bounds = even_parts(numel, schedule.num_chunks)
    sent = received = 0
    for own in lowered.steps:
        for move in own:
            if not isinstance(move, Move):
                continue
            nbytes = int(bounds[move.stop] - bounds[move.start]) * itemsize
            for src, dst in _crossings(move):
                sent += nbytes * (src == rank)
                received += nbytes * (dst == rank)
    counts = traffic(schedule, numel, itemsize)
    return Counters(
        bytes_sent=sent,
        bytes_received=received,
        messages_sent=int(counts.messages_sent[rank]),
        messages_received=int(counts.messages_received[rank]),
    )


def _crossings(move: Move) -> list[tuple[int, int]]:
    """Return (from, to) of what a move carries between the memories of two ranks."""
    into = [(place.rank, move.rank) for place in move.sources]
    out = [(move.rank, place.rank) for place in move.destinations]
    return [(src, dst) for src, dst in into + out if src != dst]


def fingerprint(schedule: Schedule) -> int:
    """Return a number that tells schedules apart, the same in every process."""
    value = zlib.crc32(f"{schedule.world} {schedule.num_chunks}".encode())
    for round_ in schedule.rounds:
        for column in (round_.src, round_.dst, round_.start, round_.stop, round_.reduce):
            value = zlib.crc32(np.ascontiguousarray(column).data, value)
    return value
