"""Whether repeats of a cell are all the same."""

import pytest

from psbench.results import is_exact

PAYLOAD = {"payload": "4 B"}


def slow(probability):
    return [
        {"rank": 0, "factor": 2.0, "probability": 1.0},
        {"rank": 1, "factor": 4.0, "probability": probability},
    ]


@pytest.mark.parametrize(
    ("compute", "exact"),
    [
        (None, True),
        ({"seconds": "0.02 s", "jitter": 0.0, "slow": [], "stragglers": None}, True),
        ({"seconds": "0.02 s", "slow": slow(1.0)}, True),
        ({"seconds": "0.02 s", "slow": slow(0.5)}, False),
        ({"seconds": "0.02 s", "jitter": 0.1}, False),
        ({"seconds": "0.02 s", "stragglers": {"probability": 0.1, "shape": 2.0}}, False),
    ],
)
def test_virtual_time_is_exact_where_nothing_is_drawn(compute, exact):
    fields = {"engine": "simulated", "task": PAYLOAD, "compute": compute}
    assert is_exact(fields) is exact
    assert is_exact(fields | {"task": {"profile": "resnet50"}}) is exact
    assert not is_exact(fields | {"task": {"model": "digits_cnn"}})
    assert not is_exact(fields | {"engine": "live"})
