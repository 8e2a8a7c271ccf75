"""Where a loss counts as run away."""

import math

import pytest

from psbench.trial import Divergence


def seen(*losses):
    divergence = Divergence()
    return [divergence.seen_in(loss) for loss in losses]


def test_over_ten_times_the_first_and_not_at_it():
    assert seen(2.0, 20.0, math.nextafter(20.0, 21.0)) == [False, False, True]


def test_the_first_counts_and_not_the_last():
    assert seen(1.0, 5.0, 11.0) == [False, False, True]
    assert seen(1.0, 0.01, 0.5) == [False, False, False]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_at_once(bad):
    assert seen(bad) == [True]
    assert seen(1.0, bad) == [False, True]


def test_each_watches_its_own_trial():
    assert seen(0.1) + seen(1.0) + seen(0.1) == [False] * 3
