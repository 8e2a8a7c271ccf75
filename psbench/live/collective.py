"""A rank's part in a schedule, carried out over a transport's channel."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from psbench.live.counters import Counters
from psbench.live.headers import Header, agree
from psbench.live.transports import SHARED_MEMORY, Channel, Transport
from psbench.parts import even_parts
from psbench.schedules import Round, Schedule


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A message of a round: elements [start, stop) of the vector, to or from `peer`.

    What is received lands at `slot` of the scratch vector first, or in place where slot is None.
    """

    peer: int
    start: int
    stop: int
    reduce: bool = False
    slot: int | None = None


@dataclass(frozen=True, kw_only=True)
class OwnRound:
    """One rank's messages of a round, in the round's order."""

    sends: tuple[Piece, ...]
    receives: tuple[Piece, ...]


class Collective(Protocol):
    """One rank's part in a schedule, for vectors of one length."""

    def run(self, vector: Tensor, header: Header, counters: Counters) -> None:
        """Sum `vector`, 1-D, over all ranks in place; on a GPU, in the order of the current stream.

        `header` says what this call is and is held against every sender's. Raises Mismatch,
        PeerLost, PeerTimeout; the vector's values are then undefined.
        """


def collective_for(
    transport: Transport,
    schedule: Schedule,
    *,
    numel: int,
    channel: int = 0,
    wire: torch.dtype | None = None,
) -> Collective:
    """Return this rank's part in `schedule`, for vectors of `numel` elements, over `transport`.

    What is sent is rounded to `wire` where one is given: messages then, also in shared memory.
    """
    if transport.name == SHARED_MEMORY and wire is None:
        from psbench.live.in_place import InPlaceCollective  # imports numba
        from psbench.live.transports.shared_memory import SharedMemoryTransport

        assert isinstance(transport, SharedMemoryTransport)
        return InPlaceCollective(schedule, transport, numel=numel, channel=channel)
    own = transport.channel(channel)
    return MessageCollective(schedule, rank=transport.rank, numel=numel, channel=own, wire=wire)


class MessageCollective:
    """One rank's rounds of a schedule, for vectors of `numel` elements, over a channel.

    With a `wire` dtype a rank rounds its own value of what it sends, too: who exchange their
    values then add the same two. What is never sent is rounded in the end, and all hold the same.
    """

    def __init__(
        self,
        schedule: Schedule,
        *,
        rank: int,
        numel: int,
        channel: Channel,
        wire: torch.dtype | None = None,
    ) -> None:
        offsets = even_parts(numel, schedule.num_chunks).tolist()
        rounds = list(schedule.rounds)
        planned = (own_round(round_, offsets, rank) for round_ in rounds)
        self.rounds = [own for own in planned if own.sends or own.receives]
        self.numel = numel
        self._channel = channel
        self._wire = wire
        # of the schedule, not of what is left of it: one who has nothing to send says so
        self.send_to = sorted({int(dst) for r in rounds for dst in r.dst[r.src == rank]})
        self.receive_from = sorted({int(src) for r in rounds for src in r.src[r.dst == rank]})
        self._scratch = torch.empty(max((scratch_needed(r) for r in self.rounds), default=0))
        self._rounded: Tensor | None = None

    def run(self, vector: Tensor, header: Header, counters: Counters) -> None:
        assert vector.shape == (self.numel,)
        flat = vector.contiguous()
        agree(self._channel, header, send_to=self.send_to, receive_from=self.receive_from)
        scratch = self._scratch_of(vector)
        sent = flat if self._wire is None else self._rounding(flat, self._wire)
        for own in self.rounds:
            if sent is not flat:
                for p in own.sends:
                    _round(flat[p.start : p.stop], sent[p.start : p.stop])
            sends = [(p.peer, as_bytes(sent[p.start : p.stop])) for p in own.sends]
            receives = [(p.peer, as_bytes(landing(p, sent, scratch))) for p in own.receives]
            counters.add(sends, receives)
            self._channel.exchange(sends, receives).wait()
            settle(own, flat, scratch, sent)
        if sent is not flat and self.rounds:
            _round(flat, sent)
        if flat is not vector:
            vector.copy_(flat)

    def _scratch_of(self, vector: Tensor) -> Tensor:
        """Return the scratch, kept from call to call: fresh memory costs page faults."""
        dtype = self._wire or vector.dtype
        if self._scratch.dtype != dtype or self._scratch.device != vector.device:
            self._scratch = torch.empty(len(self._scratch), dtype=dtype, device=vector.device)
        return self._scratch

    def _rounding(self, flat: Tensor, wire: torch.dtype) -> Tensor:
        """Return as long a vector of the wire's dtype."""
        if self._rounded is None:
            self._rounded = torch.empty(len(flat), dtype=wire, device=flat.device)
        return self._rounded


def _round(values: Tensor, rounded: Tensor) -> None:
    """Round values to the dtype of `rounded`, in place and there."""
    values.copy_(rounded.copy_(values))


def own_round(round_: Round, offsets: list[int], rank: int) -> OwnRound:
    """Return what `rank` sends and receives in a round; messages without elements are left out."""
    sends = tuple(
        Piece(peer=peer, start=start, stop=stop)
        for peer, start, stop, _ in _transfers(round_, offsets, round_.src == rank, round_.dst)
    )
    receives, slot = [], 0
    for peer, start, stop, reduce in _transfers(round_, offsets, round_.dst == rank, round_.src):
        # what is sent in this round is the value from before it: an overwrite of it waits
        staged = reduce or any(p.start < stop and start < p.stop for p in sends)
        where = slot if staged else None
        receives.append(Piece(peer=peer, start=start, stop=stop, reduce=reduce, slot=where))
        slot += stop - start if staged else 0
    return OwnRound(sends=sends, receives=tuple(receives))


def _transfers(
    round_: Round, offsets: list[int], mine: object, peers: object
) -> Iterator[tuple[int, int, int, bool]]:
    columns = (peers, round_.start, round_.stop, round_.reduce)
    for peer, first, last, reduce in zip(*(c[mine].tolist() for c in columns), strict=True):  # type: ignore[index]
        start, stop = offsets[first], offsets[last]
        if start < stop:
            yield peer, start, stop, reduce


def scratch_needed(own: OwnRound) -> int:
    """Return the elements of scratch that a round fills."""
    return sum(p.stop - p.start for p in own.receives if p.slot is not None)


def landing(piece: Piece, flat: Tensor, scratch: Tensor) -> Tensor:
    """Return where a received piece lands."""
    if piece.slot is None:
        return flat[piece.start : piece.stop]
    return scratch[piece.slot : piece.slot + piece.stop - piece.start]


def settle(own: OwnRound, flat: Tensor, scratch: Tensor, landed: Tensor) -> None:
    """Bring what landed in scratch, or in `landed` where that is not `flat`, to its place there, in
    the round's order."""
    for piece in own.receives:
        if piece.slot is None and landed is flat:
            continue
        target = flat[piece.start : piece.stop]
        if piece.reduce:
            target.add_(landing(piece, landed, scratch))
        else:
            target.copy_(landing(piece, landed, scratch))


def as_bytes(tensor: Tensor) -> Tensor:
    """Return the memory of a contiguous tensor as bytes: a transport carries any dtype."""
    return tensor.view(torch.uint8)
