"""Planted faults are found, and whatever passes does sum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psbench.errors import ScheduleError
from psbench.schedules import ALGORITHMS, Round, Schedule, execute, ring, tree, verify

ADD, COPY = True, False


def round_of(*transfers):
    """Return the round of (src, dst, start, stop, reduce) tuples."""
    table = np.array(transfers, dtype=np.int64).reshape(-1, 5)
    src, dst, start, stop, reduce = (column.copy() for column in table.T)
    return Round(src=src, dst=dst, start=start, stop=stop, reduce=reduce.astype(bool))


def transfers_of(schedule):
    """Return the rounds as lists of (src, dst, start, stop, reduce) lists, to be changed."""
    return [
        [
            list(transfer)
            for transfer in zip(
                round_.src.tolist(),
                round_.dst.tolist(),
                round_.start.tolist(),
                round_.stop.tolist(),
                round_.reduce.tolist(),
                strict=True,
            )
        ]
        for round_ in schedule.rounds
    ]


def schedule_of(world, num_chunks, rounds):
    return Schedule(
        world=world, num_chunks=num_chunks, rounds=[round_of(*transfers) for transfers in rounds]
    )


def all_to_all(world, order):
    """One round: every rank sends its one chunk to every other, sources in `order`."""
    return schedule_of(
        world, 1, [[(src, dst, 0, 1, True) for src in order for dst in range(world) if src != dst]]
    )


def recursive_doubling(world):
    """In round k rank r exchanges its sum with rank r xor 2^k."""
    rounds = [
        [(rank, rank ^ (1 << k), 0, 1, True) for rank in range(world)]
        for k in range(world.bit_length() - 1)
    ]
    return schedule_of(world, 1, rounds)


@pytest.mark.parametrize("world", [1, 2, 4, 8, 16])
def test_recursive_doubling_passes(world):
    verify(recursive_doubling(world))  # swapped operands, same brackets: (a + b) + (c + d)


def test_two_ranks_may_exchange_in_one_round():
    verify(all_to_all(2, [0, 1]))  # reads the values from before the round


def test_ranks_that_add_in_different_order_are_found():
    # Ranks 0 and 1 hold ((0 + 1) + 2) + 3, rank 2 holds ((2 + 0) + 1) + 3.
    with pytest.raises(ScheduleError, match=r"rank 2, chunk 0: added in another association"):
        verify(all_to_all(4, [0, 1, 2, 3]))


def test_several_reduces_of_one_chunk_are_applied_in_array_order():
    def star(*sources):
        gather = [(src, 0, 0, 1, ADD) for src in sources]
        return [gather, [(0, dst, 0, 1, COPY) for dst in (1, 2, 3)]]

    def joined(first, second):
        """Chunk 0 of ranks 0..3 summed at 0 in order `first`, and at rank 1 in order `second`."""
        rounds = star(*first)
        rounds[0] += [(src, 1, 0, 1, ADD) for src in second]
        rounds[1] = [(0, 2, 0, 1, COPY), (1, 3, 0, 1, COPY)]
        return schedule_of(4, 1, rounds)

    verify(schedule_of(4, 1, star(3, 1, 2)))
    verify(joined((1, 2, 3), (0, 2, 3)))  # ((0 + 1) + 2) + 3 and ((1 + 0) + 2) + 3
    with pytest.raises(ScheduleError, match=r"rank 1, chunk 0: added in another association"):
        verify(joined((1, 2, 3), (0, 3, 2)))


@pytest.mark.parametrize("good", [ring(4), ring(5, 3), tree(6, 2)], ids=["ring", "few", "tree"])
class TestEverySingleTransfer:
    """Each transfer of a good schedule is broken in turn."""

    @staticmethod
    def broken(good, change):
        count = sum(len(round_) for round_ in good.rounds)
        for n in range(count):
            rounds = transfers_of(good)
            where = [(r, i) for r, round_ in enumerate(rounds) for i in range(len(round_))][n]
            change(rounds[where[0]], where[1])
            yield schedule_of(good.world, good.num_chunks, rounds)

    def test_lost(self, good):
        for bad in self.broken(good, lambda round_, i: round_.pop(i)):
            with pytest.raises(ScheduleError, match=r"contribution of rank \d is there 0 times"):
                verify(bad)

    def test_doubled(self, good):
        for bad in self.broken(good, lambda round_, i: round_.append(round_[i])):
            with pytest.raises(ScheduleError, match=r"is there 2 times|two overwrites"):
                verify(bad)

    def test_reduce_and_overwrite_exchanged(self, good):
        def flip(round_, i):
            round_[i][4] = not round_[i][4]

        for bad in self.broken(good, flip):
            with pytest.raises(ScheduleError, match=r"times, not once|an overwrite and a reduce"):
                verify(bad)


def test_a_lost_transfer_is_named():
    rounds = transfers_of(ring(4))
    rounds[2].remove([3, 0, 0, 1, True])  # the last hop of chunk 0: rank 0 gets no sum
    with pytest.raises(
        ScheduleError,
        match=r"after all 6 rounds, rank 0, chunk 0: the contribution of rank 1 is there 0 times",
    ):
        verify(schedule_of(4, 4, rounds))


def test_a_lost_and_a_doubled_contribution_do_not_cancel():
    # Rank 0 gets rank 1's value twice and rank 2's never: the number is right.
    rounds = [[(1, 0, 0, 1, ADD), (1, 0, 0, 1, ADD)], [(0, 1, 0, 1, COPY), (0, 2, 0, 1, COPY)]]
    with pytest.raises(ScheduleError, match="contribution of rank 1 is there 2 times"):
        verify(schedule_of(3, 1, rounds))


def test_a_count_does_not_wrap_around():
    # Ranks 0 and 1 exchange until they hold each other 2^64 times, which is 0 in 64 bits; adding
    # the true sum, kept at rank 2, would then look right.
    gather = [(src, 2, 0, 1, ADD) for src in (0, 1, 3)]
    exchange = [(0, 1, 0, 1, ADD), (1, 0, 0, 1, ADD)]
    spread = [(0, dst, 0, 1, COPY) for dst in (1, 2, 3)]
    rounds = [gather, *[exchange] * 65, [(2, 0, 0, 1, ADD)], spread]
    with pytest.raises(ScheduleError, match=f"contribution of rank 0 is there {2**64} times"):
        verify(schedule_of(4, 1, rounds))


def test_no_rounds_at_all():
    with pytest.raises(ScheduleError, match="after all 0 rounds, rank 0, chunk 0"):
        verify(schedule_of(2, 1, []))


@pytest.mark.parametrize(
    ("kinds", "allowed"),
    [((COPY, COPY), False), ((ADD, COPY), False), ((COPY, ADD), False), ((ADD, ADD), True)],
)
def test_overwrites_that_clash_are_found(kinds, allowed):
    clash = [(1, 0, 0, 2, kinds[0]), (2, 0, 1, 3, kinds[1])]
    share = [(0, 1, 0, 3, COPY), (0, 2, 0, 3, COPY)]
    fault = "times, not once" if allowed else "round 0, rank 0, chunk 1: two overwrites, or"
    with pytest.raises(ScheduleError, match=fault):
        verify(schedule_of(3, 3, [clash, share]))


@pytest.mark.parametrize(
    ("transfer", "fault"),
    [
        ((-1, 1, 0, 1, ADD), r"rank -1 -> 1, .*src outside ranks 0\.\.2"),
        ((3, 1, 0, 1, ADD), r"src outside ranks 0\.\.2"),
        ((0, 3, 0, 1, ADD), r"dst outside ranks 0\.\.2"),
        ((1, 1, 0, 1, ADD), "rank sends to itself"),
        ((0, 1, 1, 1, ADD), "start must be below stop"),
        ((0, 1, 1, 0, ADD), "start must be below stop"),
        ((0, 1, -1, 1, ADD), r"chunks \[-1, 1\): chunks outside 0\.\.1"),
        ((0, 1, 0, 3, ADD), r"chunks outside 0\.\.1"),
    ],
)
def test_malformed_transfers_are_named(transfer, fault):
    good = [(0, 1, 0, 2, ADD)]
    with pytest.raises(ScheduleError, match=f"^round 1, transfer 1, .*{fault}"):
        verify(schedule_of(3, 2, [good, [*good, transfer]]))


def test_malformed_arrays_are_named():
    good = round_of((0, 1, 0, 1, ADD), (1, 0, 0, 1, ADD))
    fields = vars(good)
    for changed, fault in (
        ({"stop": good.stop[:1]}, "one length"),
        ({"reduce": good.reduce.astype(np.int64)}, "reduce must be bool"),
        ({"src": good.src.astype(np.float64)}, "src must be int64"),
    ):
        bad = Round(**{**fields, **changed})
        with pytest.raises(ScheduleError, match=f"round 0: .*{fault}"):
            verify(Schedule(world=2, num_chunks=1, rounds=[bad]))


@st.composite
def mutated(draw):
    """Return a good schedule with one thing changed."""
    name = draw(st.sampled_from(sorted(ALGORITHMS)))
    world, num_chunks = draw(st.integers(2, 6)), draw(st.integers(1, 6))
    rounds = transfers_of(ALGORITHMS[name](world, num_chunks))
    r = draw(st.integers(0, len(rounds) - 1))
    i = draw(st.integers(0, len(rounds[r]) - 1))
    kind = draw(st.sampled_from(["drop", "double", "field", "swap", "move", "reverse"]))
    if kind == "drop":
        rounds[r].pop(i)
    elif kind == "double":
        rounds[r].append(rounds[r][i])
    elif kind == "field":
        field = draw(st.integers(0, 4))
        top = [world - 1, world - 1, num_chunks, num_chunks, 1][field]
        rounds[r][i][field] = draw(st.integers(0, top))
    elif kind == "swap":
        other = draw(st.integers(0, len(rounds) - 1))
        rounds[r], rounds[other] = rounds[other], rounds[r]
    elif kind == "move":
        rounds[draw(st.integers(0, len(rounds) - 1))].append(rounds[r].pop(i))
    else:
        rounds[r].reverse()
    return schedule_of(world, num_chunks, rounds)


@settings(max_examples=400, deadline=None)
@given(schedule=mutated(), seed=st.integers(0, 2**32 - 1))
def test_what_passes_sums_and_keeps_replicas_equal(schedule, seed):
    try:
        verify(schedule)
    except ScheduleError:
        return
    rng = np.random.default_rng(seed)
    integers = list(rng.integers(-(2**40), 2**40, (schedule.world, 13)))
    for result in execute(schedule, integers):
        assert np.array_equal(result, np.sum(integers, axis=0))
    floats = list(rng.standard_normal((schedule.world, 13)).astype(np.float32))
    assert len({result.tobytes() for result in execute(schedule, floats)}) == 1
