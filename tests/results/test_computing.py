"""What `compute` says, in words."""

import pytest

from psbench.results import computing_in_words, told_in_words

STRAGGLERS = {"probability": 0.05, "shape": 1.5, "most": 100.0}


def _slow(*ranks, factor=4.0, probability=1.0):
    return [{"rank": rank, "factor": factor, "probability": probability} for rank in ranks]


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (None, "not padded"),
        ({"seconds": "0.02 s", "jitter": 0.0, "slow": []}, "20.0 ms"),
        ({"seconds": "0.02 s", "jitter": 0.1}, "20.0 ms, jitter 0.1"),
        ({"seconds": "0.02 s", "slow": _slow(3)}, "20.0 ms, rank 3 4x slower"),
        (
            {"seconds": "0.02 s", "slow": _slow(0, 1, 2, 3, probability=0.25)},
            "20.0 ms, each rank 4x slower in 25 % of steps",
        ),
        ({"slow": _slow(1, 3)}, "ranks 1 and 3 4x slower"),
        ({"slow": _slow(2, 0, 1)}, "ranks 0–2 4x slower"),
        ({"slow": _slow(0, factor=1.5) + _slow(1)}, "rank 0 1.5x slower, rank 1 4x slower"),
        ({"slow": _slow(0, factor=0.5)}, "rank 0 2x faster"),
        ({"slow": _slow(0, factor=1.0)}, "rank 0 no slower"),
        ({"slow": [{"rank": 1, "factor": 2}]}, "rank 1 2x slower"),
        ({"slow": []}, "no rank slower"),
        ({"seconds": "0.02 s", "stragglers": None}, "20.0 ms"),
        (
            {"seconds": "0.02 s", "stragglers": STRAGGLERS},
            "20.0 ms, 5 % of steps straggle (Pareto 1.5, up to 100x)",
        ),
    ],
)
def test_computing_is_told_as_people_say_it(compute, expected):
    assert computing_in_words(compute, workers=4) == expected


def test_the_only_worker_is_named():
    assert computing_in_words({"slow": _slow(0)}, workers=1) == "rank 0 4x slower"


def test_words_take_the_place_of_all_axes_of_computing_but_of_numbers_alone():
    axes = ("batch.per_worker", "compute.seconds", "compute.slow")
    assert told_in_words(axes) == {"compute.seconds", "compute.slow"}
    assert told_in_words(("compute", "compute.jitter")) == {"compute", "compute.jitter"}
    assert told_in_words(("compute.seconds", "compute.jitter", "strategy")) == set()
    of_all = tuple(f"compute.stragglers.{name}" for name in STRAGGLERS)
    assert told_in_words((*of_all, "compute.seconds")) == {*of_all, "compute.seconds"}
    assert told_in_words(of_all[:1]) == set()
