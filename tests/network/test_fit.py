"""Fitting a link to times that were made from one we know."""

from dataclasses import asdict

import numpy as np
import pytest

from psbench.network import Link, fit_link, one_way, reduction, train

TRUTH = Link(latency=20e-6, overhead=3e-6, byte_time=0.2e-9, reduce_time=0.05e-9)
SIZES = [0, 64, 1024, 16384, 262144, 4 * 2**20]
REPEATS = 12


def observations(noise=0.0, outliers=0.0, seed=0, link=TRUTH):
    """Times of all three experiments, with lognormal noise; a share of them much too long."""
    generator = np.random.default_rng(seed)

    def measured(seconds):
        factor = generator.lognormal(0.0, noise)
        return seconds * factor * (10.0 if generator.random() < outliers else 1.0)

    made = []
    for n in SIZES:
        for _ in range(REPEATS):
            alpha = link.latency + 2 * link.overhead
            made.append(one_way(n, measured(alpha + n * link.byte_time)))
            busy = link.overhead + n * link.byte_time
            seconds = 2 * alpha + n * link.byte_time + 15 * busy
            made.append(train(16, n, measured(seconds)))
            if n:
                made.append(reduction(n, measured(n * link.reduce_time)))
    return made


def errors(fit, link=TRUTH):
    """|found - true| of each parameter, and what is stated of it."""
    true, found, stated = asdict(link), asdict(fit.link), asdict(fit.uncertainty)
    return {name: (abs(found[name] - true[name]), stated[name]) for name in true}


def test_exact_times_give_the_link_back():
    fit = fit_link(observations())
    for name, (error, stated) in errors(fit).items():
        assert error < 1e-6 * getattr(TRUTH, name)
        assert stated < 1e-6 * getattr(TRUTH, name)
    assert np.abs(fit.residuals).max() < 1e-6


def test_noise_is_within_the_stated_uncertainty_about_as_often_as_it_says():
    within = [
        error <= stated
        for seed in range(6)
        for error, stated in errors(fit_link(observations(noise=0.1, seed=seed))).values()
    ]
    assert len(within) == 24
    assert sum(within) >= 19  # 95 % would be 22.8; 3 standard deviations below it are 19.6


def test_outliers_move_little():
    fit = fit_link(observations(noise=0.05, outliers=0.1, seed=1))
    for name, (error, stated) in errors(fit).items():
        assert error < 0.15 * getattr(TRUTH, name), name
        assert stated < 0.3 * getattr(TRUTH, name), name


def test_no_parameter_is_negative():
    link = Link(latency=0.0, overhead=5e-6, byte_time=1e-9, reduce_time=0.0)
    times = [one for one in observations(noise=0.2, seed=3, link=link) if one.kind != "reduction"]
    fit = fit_link(times)
    assert min(asdict(fit.link).values()) >= 0
    assert fit.link.reduce_time == 0  # nothing told of it
    assert fit.link.overhead == pytest.approx(5e-6, rel=0.15)


def test_nothing_to_fit_is_an_error():
    with pytest.raises(ValueError, match="no observations"):
        fit_link([])
