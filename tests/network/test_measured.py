"""Predictions of a measured network: formulas, put right where they were seen to be off."""

import pytest

from psbench.network import Link, Network, Timing

LINK = Link(latency=1e-5, overhead=0.0, byte_time=1e-9, reduce_time=0.0)


def star(world, nbytes, *, latency, overhead, byte_time, reduce_time, num_chunks=None):
    return 2 * latency + world * nbytes * byte_time


def ring(world, nbytes, *, latency, overhead, byte_time, reduce_time, num_chunks=None):
    return 2 * (world - 1) * latency + 2 * nbytes * byte_time


COSTS = {"ring": ring, "star": star}


def timed(algorithm, nbytes, seconds, workers=4):
    return Timing(algorithm=algorithm, workers=workers, nbytes=nbytes, seconds=seconds)


def test_without_timings_a_prediction_is_the_formula():
    network = Network(transport="gloo", link=LINK)
    assert network.predict(COSTS, workers=4, nbytes=1000) == {"star": 2.4e-5, "ring": 6.2e-5}
    assert list(network.predict(COSTS, workers=4, nbytes=10**6)) == ["ring", "star"]


def test_a_timed_size_is_predicted_as_it_was_timed_and_others_in_proportion():
    timings = (timed("star", 10**4, 3 * 6e-5), timed("star", 10**6, 12 * 4.02e-3))
    network = Network(transport="gloo", link=LINK, timings=timings)

    def seconds(nbytes):
        return network.predict({"star": star}, workers=4, nbytes=nbytes)["star"]

    assert seconds(10**4) == pytest.approx(3 * 6e-5)
    assert seconds(10**6) == pytest.approx(12 * 4.02e-3)
    assert seconds(10**5) == pytest.approx(6 * 4.2e-4)  # halfway: the geometric mean of 3 and 12
    assert seconds(100) == pytest.approx(3 * (2e-5 + 4e-7))
    assert seconds(10**8) == pytest.approx(12 * (2e-5 + 0.4))
    assert seconds(0) == pytest.approx(3 * 2e-5)


def test_what_was_not_timed_is_not_compared_with_what_was():
    network = Network(transport="gloo", link=LINK, timings=(timed("star", 1000, 1.0),))
    assert list(network.predict(COSTS, workers=4, nbytes=10**6)) == ["star"]
    assert list(network.predict(COSTS, workers=3, nbytes=10**6)) == ["ring", "star"]


def test_one_worker_has_nothing_to_wait_for():
    network = Network(transport="gloo", link=LINK, timings=(timed("ring", 1, 1e-6, workers=1),))
    zero = {"ring": lambda world, nbytes, **_: 0.0}
    assert network.predict(zero, workers=1, nbytes=100) == {"ring": 0.0}
