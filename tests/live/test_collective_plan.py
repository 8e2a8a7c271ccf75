"""A rank's part in a schedule, without a process: the plan by hand, and all ranks in one loop."""

import itertools
import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psbench.live.collective import (
    MessageCollective,
    OwnRound,
    Piece,
    as_bytes,
    landing,
    own_round,
    scratch_needed,
    settle,
)
from psbench.live.counters import Counters
from psbench.schedules import ALGORITHMS, Round, Schedule, execute, schedule_for, traffic, verify

DTYPES = [np.float32, np.float64, np.float16, np.int32, np.int64]


def a_round(*transfers):
    """Return the round of transfers (src, dst, start, stop, reduce)."""
    src, dst, start, stop, reduce = zip(*transfers, strict=True)
    return Round(
        src=np.array(src),
        dst=np.array(dst),
        start=np.array(start),
        stop=np.array(stop),
        reduce=np.array(reduce),
    )


def planned(schedule, *, rank, numel):
    """Return a collective whose rounds are looked at, not run."""
    return MessageCollective(schedule, rank=rank, numel=numel, channel=None)


def sent(peer, start, stop):
    return Piece(peer=peer, start=start, stop=stop)


def added(peer, start, stop, slot):
    return Piece(peer=peer, start=start, stop=stop, reduce=True, slot=slot)


def copied(peer, start, stop, slot=None):
    return Piece(peer=peer, start=start, stop=stop, slot=slot)


def plan(schedule, rank, numel):
    rounds = planned(schedule, rank=rank, numel=numel).rounds
    return [(list(own.sends), list(own.receives)) for own in rounds]


def test_rank_0_in_a_ring_of_three():
    # elements [0, 2), [2, 4), [4, 7): rank 0 ends the reduce-scatter with the first
    assert plan(schedule_for("ring", 3), 0, 7) == [
        ([sent(1, 4, 7)], [added(2, 2, 4, slot=0)]),
        ([sent(1, 2, 4)], [added(2, 0, 2, slot=0)]),
        ([sent(1, 0, 2)], [copied(2, 4, 7)]),
        ([sent(1, 4, 7)], [copied(2, 2, 4)]),
    ]


def test_messages_without_elements_are_left_out():
    # two elements in three chunks: the first chunk is empty
    assert plan(schedule_for("ring", 3), 0, 2) == [
        ([sent(1, 1, 2)], [added(2, 0, 1, slot=0)]),
        ([sent(1, 0, 1)], []),
        ([], [copied(2, 1, 2)]),
        ([sent(1, 1, 2)], [copied(2, 0, 1)]),
    ]
    # of one element rank 1 has nothing to do with the first round
    assert len(plan(schedule_for("ring", 3), 1, 1)) < 4
    for world in (1, 2, 3):
        assert plan(schedule_for("ring", world), 0, 0) == []
    assert plan(schedule_for("ring", 1), 0, 9) == []


def test_a_tree_of_three():
    schedule = schedule_for("tree", 3, 1)
    assert plan(schedule, 0, 4) == [
        ([], [added(1, 0, 4, slot=0), added(2, 0, 4, slot=4)]),
        ([sent(1, 0, 4), sent(2, 0, 4)], []),
    ]
    assert plan(schedule, 2, 4) == [([sent(0, 0, 4)], []), ([], [copied(0, 0, 4)])]


def test_peers_are_those_with_whom_anything_is_exchanged():
    root = planned(schedule_for("tree", 7), rank=0, numel=9)
    leaf = planned(schedule_for("tree", 7), rank=5, numel=9)
    assert (root.send_to, root.receive_from) == ([1, 2], [1, 2])
    assert (leaf.send_to, leaf.receive_from) == ([2], [2])
    around = planned(schedule_for("ring", 3), rank=0, numel=9)
    assert (around.send_to, around.receive_from) == ([1], [2])
    nothing = planned(schedule_for("tree", 7), rank=0, numel=0)
    assert nothing.rounds == []
    assert (nothing.send_to, nothing.receive_from) == ([1, 2], [1, 2])  # to agree that it is so


@pytest.mark.parametrize(
    ("overwritten", "slot"), [((0, 2), 0), ((1, 3), 0), ((2, 4), None), ((3, 4), None)]
)
def test_an_overwrite_of_what_is_sent_in_the_same_round_is_staged(overwritten, slot):
    round_ = a_round((0, 1, 0, 2, False), (1, 0, *overwritten, False))
    own = own_round(round_, [0, 1, 2, 3, 4], 0)
    assert own.receives == (copied(1, *overwritten, slot=slot),)


def test_what_is_staged_has_slots_of_its_own_in_the_rounds_order():
    round_ = a_round(
        (2, 0, 0, 1, True),
        (1, 0, 0, 1, True),
        (1, 0, 3, 4, False),
        (0, 3, 2, 3, True),
        (3, 0, 2, 3, False),
    )
    own = own_round(round_, [0, 3, 5, 9, 10], 0)
    assert own == OwnRound(
        sends=(sent(3, 5, 9),),
        receives=(
            added(2, 0, 3, slot=0),
            added(1, 0, 3, slot=3),
            copied(1, 9, 10),
            copied(3, 5, 9, slot=6),
        ),
    )
    assert scratch_needed(own) == 10


def test_what_landed_in_place_is_not_settled():
    own = OwnRound(sends=(), receives=(copied(1, 0, 1), added(2, 1, 3, 0), copied(1, 3, 4, 2)))
    flat, scratch = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([10.0, 20.0, 30.0])
    settle(own, flat, scratch, flat)
    assert flat.tolist() == [1.0, 12.0, 23.0, 30.0]


@dataclass
class Rank:
    """A rank that goes through its rounds; `sends` and `receives` are those not yet carried out."""

    rounds: deque
    flat: torch.Tensor
    scratch: torch.Tensor = None
    own: OwnRound = field(default_factory=lambda: OwnRound(sends=(), receives=()))
    sends: list = field(default_factory=list)
    receives: list = field(default_factory=list)

    def go_on(self):
        """While nothing is under way, settle the round and enter the next."""
        while not self.sends and not self.receives:
            settle(self.own, self.flat, self.scratch, self.flat)
            if not self.rounds:
                self.own = OwnRound(sends=(), receives=())
                return
            self.own = self.rounds.popleft()
            self.sends, self.receives = list(self.own.sends), list(self.own.receives)
            # not what landed there before
            self.scratch = torch.full((scratch_needed(self.own),), 99, dtype=self.flat.dtype)


def simulate(schedule, arrays, seed=0):
    """Carry out all ranks' rounds, a message at a time in random order, and return the vectors.

    A message goes straight from the sender's vector to where it lands, at any time after both have
    entered their rounds: that is the least a transport promises.
    """
    pick = random.Random(seed)
    numel = len(arrays[0])
    ranks = [
        Rank(
            rounds=deque(planned(schedule, rank=rank, numel=numel).rounds),
            flat=torch.from_numpy(array.copy()),
        )
        for rank, array in enumerate(arrays)
    ]
    for rank in ranks:
        rank.go_on()
    while any(rank.sends or rank.receives for rank in ranks):
        src, dst, out, into = pick.choice(list(possible(ranks)))
        assert out.stop - out.start == into.stop - into.start
        sender, receiver = ranks[src], ranks[dst]
        landing(into, receiver.flat, receiver.scratch).copy_(sender.flat[out.start : out.stop])
        sender.sends.remove(out)
        receiver.receives.remove(into)
        sender.go_on()
        receiver.go_on()
    return [rank.flat.numpy() for rank in ranks]


def possible(ranks):
    """Yield the messages that both ends are ready for: the first under way of each pair."""
    for (src, sender), (dst, receiver) in itertools.permutations(enumerate(ranks), 2):
        out = next((piece for piece in sender.sends if piece.peer == dst), None)
        into = next((piece for piece in receiver.receives if piece.peer == src), None)
        if out and into:
            yield src, dst, out, into


def vectors(world, numel, dtype=np.float32, seed=0):
    """Return vectors whose sums differ in their last bits with the order of adding."""
    values = np.random.default_rng(seed).standard_normal((world, numel)) * 100
    return list(values.astype(dtype))


def same_bits(one, other):
    return [array.tobytes() for array in one] == [array.tobytes() for array in other]


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("world", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_ranks_together_are_the_oracle(name, world, dtype):
    schedule = schedule_for(name, world)
    for numel in sorted({0, 1, world - 1, world, world + 1, 101}):
        arrays = vectors(world, numel, dtype)
        assert same_bits(simulate(schedule, arrays), execute(schedule, arrays))


@pytest.mark.parametrize("world", [2, 4])
def test_partners_that_exchange_and_add_the_same_chunk(world):
    """Recursive doubling: each sends what it adds to in the same round."""
    rounds = [
        a_round(*((rank, rank ^ mask, 0, 1, True) for rank in range(world)))
        for mask in (1, 2)[: world // 2]
    ]
    schedule = Schedule(world=world, num_chunks=1, rounds=rounds)
    verify(schedule)
    arrays = vectors(world, 13)
    for seed in range(20):
        assert same_bits(simulate(schedule, arrays, seed), execute(schedule, arrays))


@st.composite
def schedules(draw):
    """Return a schedule of well-formed rounds, which need not be an all-reduce."""
    world, num_chunks = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    rank, chunk = st.integers(0, world - 1), st.integers(0, num_chunks - 1)
    transfer = st.tuples(rank, st.integers(1, world - 1), chunk, st.integers(1, 2), st.booleans())
    rounds = []
    for transfers in draw(st.lists(st.lists(transfer, max_size=12), min_size=1, max_size=4)):
        kept, written = [], {}
        for src, hop, start, length, reduce in transfers:
            dst, stop = (src + hop) % world, min(start + length, num_chunks)
            before = [written.get((dst, chunk)) for chunk in range(start, stop)]
            if set(before) <= ({None, True} if reduce else {None}):
                kept.append((src, dst, start, stop, reduce))
                written.update({(dst, chunk): reduce for chunk in range(start, stop)})
        if kept:
            rounds.append(a_round(*kept))
    return Schedule(world=world, num_chunks=num_chunks, rounds=rounds)


@given(schedule=schedules(), numel=st.integers(0, 9), seed=st.integers(0, 99))
def test_any_rounds_in_any_order_of_delivery_are_the_oracle(schedule, numel, seed):
    arrays = vectors(schedule.world, numel)
    assert same_bits(simulate(schedule, arrays, seed), execute(schedule, arrays))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("world", [1, 2, 3, 5, 7, 16])
def test_pieces_are_the_traffic_of_the_schedule(name, world):
    schedule = schedule_for(name, world)
    for numel in sorted({0, 1, world - 1, world, world + 1, 101}):
        expected = traffic(schedule, numel, itemsize=8)
        vector = torch.zeros(numel, dtype=torch.float64)
        for rank in range(world):
            counters = Counters()
            for own in planned(schedule, rank=rank, numel=numel).rounds:
                scratch = torch.zeros(scratch_needed(own), dtype=torch.float64)
                counters.add(
                    [(p.peer, as_bytes(vector[p.start : p.stop])) for p in own.sends],
                    [(p.peer, as_bytes(landing(p, vector, scratch))) for p in own.receives],
                )
            assert counters == Counters(
                bytes_sent=expected.bytes_sent[rank],
                bytes_received=expected.bytes_received[rank],
                messages_sent=expected.messages_sent[rank],
                messages_received=expected.messages_received[rank],
            )
