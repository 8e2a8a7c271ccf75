"""What processes tell each other survives the way, and disagreement is said with field and peer."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psbench.errors import Mismatch
from psbench.live.counters import UNSEEN, Counters
from psbench.live.headers import Header, agree, dtype_code
from psbench.live.messages import (
    Answer,
    Kind,
    Request,
    Words,
)
from psbench.trial import End

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.uint8]
OURS = Header(generation=1, step=4, dtype=torch.float32, numel=5)


def messages(kind):
    number = st.integers(-(2**63), 2**63 - 1)
    return st.builds(kind, **dict.fromkeys(kind._fields, number))


@given(request=messages(Request), answer=messages(Answer))
def test_any_numbers_survive(request, answer):
    for kind, message in ((Request, request), (Answer, answer)):
        sent, received = Words(kind), Words(kind)
        sent.put(message)
        assert (received.tensor.shape, received.tensor.dtype) == (sent.tensor.shape, torch.int64)
        received.tensor.copy_(sent.tensor)
        assert received.get() == message


def test_names_travel_as_numbers():
    both = {"generation": 1, "seq": 2, "dtype": 0, "numel": 3, "shard": 4}
    request = Request(**both, kind=Kind.LEAVE, pulled_version=-1)
    words = Words(Request)
    words.put(request)
    assert words.tensor.tolist() == [1, 2, 0, 3, 4, 2, -1]
    assert Kind(words.get().kind) is Kind.LEAVE
    assert [End(number) for number in (0, 1, 2)] == [End.GO_ON, End.FINISHED, End.DIVERGED]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_header_survives(dtype):
    header = OURS._replace(dtype=dtype)
    assert Header.of(header.numbers()) == header
    both = {"generation": 1, "seq": 4, "dtype": dtype_code(dtype), "numel": 5}
    others = dict.fromkeys(Answer._fields[4:], 0)
    assert Request(**both, shard=0, kind=0, pulled_version=0).header == header
    assert Answer(**both, **others).header == header


def test_dtypes_that_are_never_sent_are_refused():
    with pytest.raises(Mismatch, match=r"tensors of torch.complex64 cannot be sent; known: "):
        dtype_code(torch.complex64)


class Told:
    """A channel whose peers have already sent `numbers`."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.sent = []

    def exchange(self, sends, receives):
        self.sent += [(peer, tensor.tolist()) for peer, tensor in sends]
        for peer, tensor in receives:
            tensor.copy_(torch.tensor(self.numbers[peer]))
        return self

    def synchronize(self):
        pass


def test_ranks_that_agree():
    channel = Told({0: OURS.numbers(), 2: OURS.numbers()})
    agree(channel, OURS, send_to=[2, 3], receive_from=[0, 2])
    assert channel.sent == [(2, OURS.numbers()), (3, OURS.numbers())]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"generation": 2}, "rank 3 sends generation 2 where 1 is expected"),
        ({"step": 5}, "rank 3 sends step 5 where 4 is expected"),
        (
            {"dtype": torch.float64},
            "rank 3 sends dtype torch.float64 where torch.float32 is expected",
        ),
        ({"numel": 6}, "rank 3 sends numel 6 where 5 is expected"),
    ],
)
def test_ranks_that_disagree(change, problem):
    channel = Told({0: OURS.numbers(), 3: OURS._replace(**change).numbers()})
    with pytest.raises(Mismatch, match=f"^{problem}$"):
        agree(channel, OURS, send_to=[], receive_from=[0, 3])


@pytest.mark.parametrize("code", [-1, 99])
def test_a_dtype_that_nobody_knows_is_no_match(code):
    with pytest.raises(Mismatch, match="rank 3 sends dtype"):
        Header.of([1, 4, code, 5]).check(OURS, "rank 3")


def test_counters_count_payload_both_ways_and_since():
    counters, before = Counters(), Counters()
    four, three = torch.zeros(4), torch.zeros(3, dtype=torch.float64)
    for _ in range(2):
        before = counters.copy()
        counters.add([(1, four), (2, four)], [(1, three)])
    assert counters == Counters(
        bytes_sent=64, bytes_received=48, messages_sent=4, messages_received=2
    )
    assert counters.since(before) == Counters(
        bytes_sent=32, bytes_received=24, messages_sent=2, messages_received=1
    )


def test_what_was_not_seen_stays_unseen():
    counters = Counters()
    before = counters.copy()
    counters.hide()
    assert counters.since(before) == counters.since(counters.copy()) == counters
    assert counters.bytes_sent == counters.messages_received == UNSEEN
