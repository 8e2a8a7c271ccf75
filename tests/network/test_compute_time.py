"""Computing times: the mean and spread that were asked for, from (seed, repeat, rank, step)."""

import numpy as np
import pytest

from psbench.network import ComputeTime, Slowness


def draws(time, rank=0, steps=20_000):
    return np.array([time.draw(rank, step) for step in range(steps)])


def test_without_jitter_each_step_takes_what_was_asked():
    assert set(draws(ComputeTime(seconds=0.02), steps=50)) == {0.02}


@pytest.mark.parametrize("jitter", [0.1, 0.5, 1.0])
def test_jitter_is_the_standard_deviation_over_the_mean(jitter):
    times = draws(ComputeTime(seconds=0.02, jitter=jitter))
    assert times.min() > 0
    assert times.mean() == pytest.approx(0.02, rel=4 * jitter / np.sqrt(len(times)))
    assert times.std() / times.mean() == pytest.approx(jitter, rel=0.1)
    # lognormal: the logarithms are normal, with a median below the mean
    assert np.median(times) == pytest.approx(0.02 / np.sqrt(1 + jitter**2), rel=0.03)


def test_a_draw_depends_on_seed_repeat_rank_and_step_alone():
    time = ComputeTime(seconds=1.0, jitter=0.3, seed=1, repeat=2)
    assert time.draw(3, 4) == ComputeTime(seconds=1.0, jitter=0.3, seed=1, repeat=2).draw(3, 4)
    others = [
        time.draw(3, 5),
        time.draw(4, 4),
        ComputeTime(seconds=1.0, jitter=0.3, seed=2, repeat=2).draw(3, 4),
        ComputeTime(seconds=1.0, jitter=0.3, seed=1, repeat=1).draw(3, 4),
    ]
    assert len({time.draw(3, 4), *others}) == 5


def test_a_slow_rank_is_slower_by_its_factor_and_no_other_is():
    plain = ComputeTime(seconds=1.0, jitter=0.3)
    slowed = ComputeTime(seconds=1.0, jitter=0.3, slow=(Slowness(rank=2, factor=4.0),))
    assert draws(slowed, 2, 50) == pytest.approx(4 * draws(plain, 2, 50))
    assert draws(slowed, 1, 50) == pytest.approx(draws(plain, 1, 50))


def test_slowness_with_a_probability_strikes_so_often():
    time = ComputeTime(seconds=1.0, slow=(Slowness(rank=0, factor=3.0, probability=0.25),))
    times = draws(time, steps=10_000)
    assert set(times) == {1.0, 3.0}
    assert (times == 3.0).mean() == pytest.approx(0.25, abs=0.02)


def test_several_slownesses_of_one_rank_multiply():
    slow = (Slowness(rank=0, factor=2.0), Slowness(rank=0, factor=5.0))
    assert ComputeTime(seconds=1.0, slow=slow).draw(0, 0) == 10.0
