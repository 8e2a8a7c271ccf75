"""Lower a schedule to what each rank does in memory that all can reach.

A transfer is carried out by its receiver, who reads the sender's vector where it lies, or by its
sender, who writes to the receiver's: one copy, no messages. What then has to be kept is the order
of reads and writes of each place, a (rank, chunk, buffer), and it follows from the schedule alone:

- several reduces onto a chunk in one round become one sum, read once from all sources;
- "all sends read the values from before the round": a chunk that others read in the round in which
  it changes is written to the rank's second buffer, as registers are renamed;
- an overwrite of what its sender has just summed joins that sum as one more destination, where
  nobody needs the receiver's old value any more.

A step waits for steps of earlier rounds only, and a rank takes its steps in the order of rounds:
so there is no circle of waits.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from psbench.schedules import Schedule

VECTOR, SECOND = 0, 1
"""the two buffers of a rank: the vector itself, and one of the same length"""


class Place(NamedTuple):
    """Where the value of some chunk is."""

    rank: int
    buffer: int


@dataclass(eq=False, kw_only=True)
class Move:
    """A step of `rank`: the sum of the sources' chunks [start, stop), in their order, goes to all
    destinations. `needs` are the moves that must be done before it."""

    rank: int
    round: int
    start: int
    stop: int
    sources: list[Place]
    destinations: list[Place]
    needs: set["Move"] = field(default_factory=set)
    number: int = -1
    """its position among the moves of its rank"""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Wait until `peer` has entered the collective (-1), or carried out the move of that number."""

    peer: int
    number: int


Step = Wait | Move


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """What each rank does, in order, so that in the end its vector holds the sum and is its own."""

    steps: list[list[Step]]
    awaited: frozenset[tuple[int, int]]
    """the (rank, number) of the moves that others wait for"""
    renamed: bool
    """whether any rank needs a second buffer"""

    @property
    def length(self) -> int:
        """The moves of the busiest rank."""
        return max(sum(isinstance(step, Move) for step in own) for own in self.steps)


@lru_cache(maxsize=4)
def lower(schedule: Schedule) -> Lowered:
    """Return the moves of a schedule, which must be valid; see `schedules.verify`.

    Buckets of one vector have one schedule between them.
    """
    places = _Places()
    moves: list[list[Move]] = [[] for _ in range(schedule.world)]
    for number, round_ in enumerate(schedule.rounds):
        columns = (round_.src, round_.dst, round_.start, round_.stop, round_.reduce)
        incoming: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
        readers: dict[tuple[int, int], set[int]] = defaultdict(set)
        for src, dst, start, stop, reduce in zip(*(c.tolist() for c in columns), strict=True):
            for chunk in range(start, stop):
                incoming[dst, chunk].append((src, reduce))
                readers[src, chunk].add(dst)
        made = []
        for (dst, chunk), transfers in incoming.items():
            move = places.move(number, dst, chunk, transfers, readers)
            if move is not None:
                made.append(move)
        for move in made:
            places.carry_out(move)
            moves[move.rank].append(move)
    for move in places.settling():
        moves[move.rank].append(move)
    joined = _joined(moves)
    touching = _touching(joined)
    steps = [list(_with_waits(own, rank, touching[rank])) for rank, own in enumerate(joined)]
    awaited = frozenset(
        (step.peer, step.number) for own in steps for step in own if isinstance(step, Wait)
    )
    return Lowered(steps=steps, awaited=awaited, renamed=places.renamed)


class _Places:
    """Who last wrote each place, and who has read it since; where each chunk's value is."""

    def __init__(self) -> None:
        self._buffer: dict[tuple[int, int], int] = {}
        self._writer: dict[tuple[Place, int], Move] = {}
        self._readers: dict[tuple[Place, int], list[Move]] = defaultdict(list)
        self.renamed = False

    def _place(self, rank: int, chunk: int) -> Place:
        return Place(rank, self._buffer.get((rank, chunk), VECTOR))

    def move(
        self,
        number: int,
        dst: int,
        chunk: int,
        transfers: list[tuple[int, bool]],
        readers: dict[tuple[int, int], set[int]],
    ) -> Move | None:
        """Return the move that brings the round's transfers to (dst, chunk); None where an earlier
        one takes them along. Nothing is changed but that."""
        own = self._place(dst, chunk)
        sources = [self._place(src, chunk) for src, _ in transfers]
        read_by_others = bool(readers.get((dst, chunk), set()) - {dst})
        if transfers[0][1]:
            sources.insert(0, own)
        elif not read_by_others and self._taken_along(sources[0], own, chunk, number):
            return None
        target = own._replace(buffer=1 - own.buffer) if read_by_others else own
        return Move(
            rank=dst,
            round=number,
            start=chunk,
            stop=chunk + 1,
            sources=sources,
            destinations=[target],
        )

    def _taken_along(self, source: Place, target: Place, chunk: int, number: int) -> bool:
        """Add `target` to the destinations of the sum that made the value at `source`, if its rank
        made it itself, in an earlier round, and nobody has used the target's old value since."""
        made = self._writer.get((source, chunk))
        if made is None or made.rank != source.rank or made.round >= number:
            return False
        before = self._writer.get((target, chunk))
        if before is not None and before.round >= made.round:
            return False
        used = [move for move in self._readers[target, chunk] if move is not made]
        if any(move.round >= made.round for move in used):
            return False
        made.destinations.append(target)
        made.needs.update(used if before is None else [*used, before])
        self._writer[target, chunk] = made
        self._readers[target, chunk] = []
        return True

    def carry_out(self, move: Move) -> None:
        """Take note of what a move reads and writes, and of what it waits for."""
        chunk = move.start
        for place in move.sources:
            if (place, chunk) in self._writer:
                move.needs.add(self._writer[place, chunk])
            self._readers[place, chunk].append(move)
        for place in move.destinations:
            if (place, chunk) in self._writer:
                move.needs.add(self._writer[place, chunk])
            move.needs.update(self._readers[place, chunk])
            self._readers[place, chunk] = []
            self._writer[place, chunk] = move
            self._buffer[place.rank, chunk] = place.buffer
            self.renamed |= place.buffer == SECOND
        move.needs.discard(move)

    def settling(self) -> Iterator[Move]:
        """Yield the moves that bring values from second buffers to the vectors."""
        for (rank, chunk), buffer in sorted(self._buffer.items()):
            if buffer == SECOND:
                move = Move(
                    rank=rank,
                    round=2**62,
                    start=chunk,
                    stop=chunk + 1,
                    sources=[Place(rank, SECOND)],
                    destinations=[Place(rank, VECTOR)],
                )
                self.carry_out(move)
                yield move


def _joined(moves: list[list[Move]]) -> list[list[Move]]:
    """Join moves of neighbouring chunks that are otherwise alike, and number them."""
    into: dict[Move, Move] = {}
    kept: list[list[Move]] = []
    for own in moves:
        rows: list[Move] = []
        for move in sorted(own, key=lambda move: (move.round, move.start)):
            last = rows[-1] if rows else None
            if last is not None and _alike(last, move):
                last.stop = move.stop
                last.needs |= move.needs
                into[move] = last
            else:
                move.number = len(rows)
                rows.append(move)
        kept.append(rows)
    for rows in kept:
        for move in rows:
            move.needs = {into.get(need, need) for need in move.needs} - {move}
    return kept


def _touching(moves: list[list[Move]]) -> list[set[Move]]:
    """Return for each rank the moves of others that read or write its memory."""
    touching: list[set[Move]] = [set() for _ in moves]
    for own in moves:
        for move in own:
            for place in (*move.sources, *move.destinations):
                touching[place.rank].add(move)
    return touching


def _alike(first: Move, second: Move) -> bool:
    return (
        first.round == second.round
        and first.stop == second.start
        and first.sources == second.sources
        and first.destinations == second.destinations
    )


def _with_waits(moves: list[Move], rank: int, touching: set[Move]) -> Iterator[Step]:
    """Yield a rank's moves, each behind the waits it needs that no earlier one implies; then those
    for all that others do with its memory."""
    known: dict[int, int] = {}
    for move in moves:
        peers = {place.rank: -1 for place in (*move.sources, *move.destinations)}
        yield from _news(move.needs, peers, rank, known)
        yield move
    yield from _news(touching, {}, rank, known)


def _news(
    needs: set[Move], least: dict[int, int], rank: int, known: dict[int, int]
) -> Iterator[Wait]:
    """Yield a wait for the last needed move of each peer not known to be done, and note it."""
    latest = dict(least)
    for need in needs:
        latest[need.rank] = max(need.number, latest.get(need.rank, -1))
    for peer, number in sorted(latest.items()):
        if peer != rank and number > known.get(peer, -2):
            known[peer] = number
            yield Wait(peer=peer, number=number)
