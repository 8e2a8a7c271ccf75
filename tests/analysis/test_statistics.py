"""Ratios and their bounds against scipy, by hand and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from psbench.analysis.statistics import paired_ratio, t_quantile


@pytest.mark.parametrize("freedom", [*range(1, 31), 100, 999])
def test_quantiles_are_those_of_scipy(freedom):
    probabilities = [0.501, 0.75, 0.9, 0.975, 0.995, 0.9999]
    found = [t_quantile(probability, freedom) for probability in probabilities]
    assert found == pytest.approx(stats.t.ppf(probabilities, freedom), rel=1e-9)


def test_bounds_are_those_of_a_paired_test_of_the_logarithms():
    values, baselines = np.array([3.1, 2.7, 3.6, 2.9, 3.3]), np.array([1.9, 2.0, 2.2, 1.7, 2.4])
    found = paired_ratio(values, baselines)
    test = stats.ttest_rel(np.log(values), np.log(baselines))
    expected = np.exp(test.confidence_interval(0.95))
    assert found.num_pairs == 5
    assert found.ratio == pytest.approx(stats.gmean(values / baselines))
    assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_ratios_of_one_half_two_and_one_have_a_mean_of_one():
    # The logarithms are -log 2, log 2 and 0: standard error log 2 / sqrt 3, t(0.975, 2) = 4.3027.
    found = paired_ratio([1.0, 4.0, 3.0], [2.0, 2.0, 3.0])
    assert found.ratio == pytest.approx(1.0)
    assert found.high == pytest.approx(2 ** (4.302653 / math.sqrt(3)), rel=1e-6)
    assert found.low == pytest.approx(1 / found.high)


def test_turning_the_pairs_over_turns_ratio_and_bounds_over():
    one, other = [1.0, 1.2, 1.3], [2.0, 2.1, 2.9]
    there, back = paired_ratio(one, other), paired_ratio(other, one)
    assert (1 / back.ratio, 1 / back.high, 1 / back.low) == pytest.approx(
        (there.ratio, there.low, there.high)
    )


def test_one_pair_has_a_ratio_without_bounds_and_none_has_neither():
    one = paired_ratio([3.0], [2.0])
    assert (one.ratio, one.num_pairs) == (pytest.approx(1.5), 1)
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    none = paired_ratio([], [])
    assert none.num_pairs == 0
    assert math.isnan(none.ratio)


def test_what_is_not_finite_or_not_above_zero_is_no_pair():
    values, baselines = [math.inf, math.nan, 0.0, 6.0, 8.0], [1.0, 1.0, 1.0, 3.0, math.inf]
    found = paired_ratio(values, baselines)
    assert (found.ratio, found.num_pairs) == (2.0, 1)


@pytest.mark.parametrize("num_pairs", [2, 3, 5])
def test_bounds_hold_the_true_ratio_in_95_of_100_runs(num_pairs):
    # What disturbs both trials of a pair cancels, whatever its distribution: here a long tail.
    rng, runs, true = np.random.default_rng(7), 4000, 1.25
    shared = rng.pareto(1.5, (runs, num_pairs)) + 1
    values = true * shared * rng.lognormal(0, 0.08, (runs, num_pairs))
    baselines = shared * rng.lognormal(0, 0.05, (runs, num_pairs))
    found = [paired_ratio(*pair) for pair in zip(values, baselines, strict=True)]
    covered = np.mean([one.low <= true <= one.high for one in found])
    # The standard error of 4000 draws is 0.0034; 4 of them.
    assert covered == pytest.approx(0.95, abs=0.014)
