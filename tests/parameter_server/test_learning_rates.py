"""Learning-rate rules against their papers' formulas, element by element."""

import math

import numpy as np
import pytest

from psbench.parameter_server import LEARNING_RATES, NumpyStore


@pytest.mark.parametrize(
    ("name", "staleness", "workers", "factor"),
    [
        ("none", 7, 4, 1.0),
        ("inverse_workers", 0, 1, 1.0),
        ("inverse_workers", 7, 4, 0.25),
        ("staleness_aware", 0, 4, 1.0),  # fresh: the rate as it is
        ("staleness_aware", 1, 4, 1.0),
        ("staleness_aware", 2, 4, 0.5),
        ("staleness_aware", 8, 4, 0.125),
    ],
)
def test_factors(name, staleness, workers, factor):
    rule = LEARNING_RATES[name]()
    assert rule.factor(staleness, workers) == factor
    assert rule.compensation() is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("delay_compensated", {"strength": 0.5}),
        ("delay_compensated_adaptive", {"strength": 2.0, "decay": 0.95}),
    ],
)
def test_compensation_leaves_the_rate_as_it_is(name, options):
    assert LEARNING_RATES[name](**options).factor(9, 4) == 1.0


def test_a_constant_strength():
    correction = LEARNING_RATES["delay_compensated"](strength=0.04).compensation()
    gradient, now, pulled = np.array([3.0, -2.0]), np.array([1.0, 1.0]), np.array([0.5, 2.0])
    corrected = correction.corrected(gradient, now, pulled)
    expected = [3.0 + 0.04 * 9.0 * 0.5, -2.0 + 0.04 * 4.0 * -1.0]
    assert corrected.tolist() == pytest.approx(expected, rel=1e-15)
    assert gradient.tolist() == [3.0, -2.0]
    assert correction.corrected(gradient, now, now).tolist() == [3.0, -2.0]  # not late


def test_an_adaptive_strength_follows_the_mean_square():
    rule = LEARNING_RATES["delay_compensated_adaptive"](strength=2.0, decay=0.75)
    correction, other = rule.compensation(), rule.compensation()
    mean_square = 0.0
    for gradient, drift in [(3.0, 0.5), (-0.25, -1.0), (0.0, 4.0), (1.5, 0.0)]:
        mean_square = 0.75 * mean_square + 0.25 * gradient**2
        strength = 2.0 / math.sqrt(mean_square + 1e-7)
        got = correction.corrected(np.array([gradient]), np.array([drift]), np.array([0.0]))
        assert got[0] == pytest.approx(gradient + strength * gradient**2 * drift, rel=1e-14)
    # each shard has its own
    assert other.corrected(np.array([1.0]), np.array([1.0]), np.array([0.0]))[0] == pytest.approx(
        1.0 + 2.0 / math.sqrt(0.25 + 1e-7), rel=1e-14
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept(dtype):
    rule = LEARNING_RATES["delay_compensated_adaptive"](strength=2.0, decay=0.95)
    one = np.ones(3, dtype)
    assert rule.compensation().corrected(one, one, 0 * one).dtype == dtype


def test_a_store_without_torch_takes_both():
    store = NumpyStore(np.array([1.0, 2.0]), lr=0.5)
    store.apply([np.array([2.0, 4.0])], rate=0.25, correct=lambda gradient, now: gradient + now)
    assert store.read().tolist() == [1.0 - 0.125 * 3.0, 2.0 - 0.125 * 6.0]
