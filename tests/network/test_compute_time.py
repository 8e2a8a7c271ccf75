"""Computing times: the mean and spread that were asked for, from (seed, repeat, rank, step)."""

import math

import numpy as np
import pytest

from psbench.network import ComputeTime, Slowness, Stragglers


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


def test_each_draw_is_a_whole_number_of_nanoseconds():
    time = ComputeTime(seconds=1.3e-3, jitter=0.4, slow=(Slowness(rank=0, factor=1.7),))
    for seconds in draws(time, steps=200).tolist():
        assert seconds == round(seconds * 1e9) / 1e9
    assert ComputeTime(seconds=1 / 3).draw(0, 0) == 0.333333333


def test_chances_draw_from_the_same_numbers_as_ever():
    # a normal value, then a uniform one for each entry: published results rest on them
    slow = (
        Slowness(rank=1, factor=2.0),
        Slowness(rank=0, factor=4.0, probability=0.5),
        Slowness(rank=0, factor=3.0, probability=0.3),
    )
    time = ComputeTime(seconds=1.0, jitter=0.2, slow=slow, seed=5, repeat=2)
    variance = math.log(1.04)
    for step in range(50):
        generator = np.random.default_rng([5, 2, 4, 0, step])
        expected = math.exp(math.sqrt(variance) * generator.standard_normal() - variance / 2)
        for one in slow:
            chance = generator.random()
            expected *= one.factor if one.rank == 0 and chance < one.probability else 1.0
        assert time.draw(0, step) == pytest.approx(expected, abs=0.6e-9)


def test_a_rank_that_no_chance_touches_asks_for_none(monkeypatch):
    slow = (Slowness(rank=0, factor=4.0), Slowness(rank=1, factor=4.0, probability=0.5))
    time = ComputeTime(seconds=1.0, slow=slow)
    monkeypatch.setattr(np.random, "default_rng", None)
    assert time.draw(0, 3) == 4.0
    assert time.draw(2, 3) == 1.0
    with pytest.raises(TypeError):
        time.draw(1, 3)


def straggling(probability=1.0, shape=1.5, most=100.0, **fields):
    stragglers = Stragglers(probability=probability, shape=shape, most=most)
    return ComputeTime(seconds=1.0, stragglers=stragglers, **fields)


@pytest.mark.parametrize(("shape", "most"), [(0.5, 50.0), (1.0, 20.0), (1.5, 100.0), (3.0, 4.0)])
def test_stragglers_take_a_capped_pareto_factor_longer(shape, most):
    times = draws(straggling(shape=shape, most=most))
    assert times.min() >= 1.0
    assert times.max() <= most
    # P(X > x) = x ** -shape, up to the cap
    for x in (1.01, 1.5, 2.0, 3.9):
        share = x**-shape
        error = math.sqrt(share * (1 - share) / len(times))
        assert (times > x).mean() == pytest.approx(share, abs=4 * error)
    assert (times == most).mean() == pytest.approx(most**-shape, abs=0.01)
    # E[min(X, M)] = 1 + the integral of x ** -shape from 1 to M
    beyond = math.log(most) if shape == 1 else (1 - most ** (1 - shape)) / (shape - 1)
    error = times.std() / math.sqrt(len(times))
    assert times.mean() == pytest.approx(1 + beyond, abs=4 * error)


@pytest.mark.parametrize("uniform", [0.0, 0.3, 0.99, 1 - 2**-53])
def test_a_factor_is_the_quantile_function(uniform):
    asked = Stragglers(probability=1.0, shape=1.5, most=1e6)
    assert asked.factor(uniform) == pytest.approx(min(1e6, (1 - uniform) ** (-1 / 1.5)))
    tiny = Stragglers(probability=1.0, shape=1e-6, most=1e6)
    assert tiny.factor(uniform) == (1.0 if uniform == 0 else 1e6)


def test_stragglers_strike_so_often_and_other_steps_are_as_they_were():
    plain = ComputeTime(seconds=1.0, jitter=0.3, seed=3)
    struck = straggling(probability=0.05, jitter=0.3, seed=3)
    before, after = draws(plain), draws(struck)
    longer = after > before
    assert longer.mean() == pytest.approx(0.05, abs=0.007)
    assert (after[~longer] == before[~longer]).all()
    assert (after[longer] <= 100 * before[longer] + 1e-7).all()


def test_who_straggles_depends_on_seed_repeat_rank_and_step_alone():
    time = straggling(probability=0.5)
    forwards = [time.draw(rank, step) for rank in range(4) for step in range(50)]
    backwards = [time.draw(rank, step) for rank in range(3, -1, -1) for step in range(49, -1, -1)]
    assert forwards == backwards[::-1]
    ranks = [forwards[rank * 50 : (rank + 1) * 50] for rank in range(4)]
    others = [straggling(probability=0.5, seed=1), straggling(probability=0.5, repeat=1)]
    ranks += [draws(other, steps=50).tolist() for other in others]
    assert len({tuple(own) for own in ranks}) == 6
