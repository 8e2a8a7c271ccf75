"""From measured times to a link, with what is not known of it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psbench.network.link import Link

FloatArray = npt.NDArray[np.float64]

_TUNING = 1.345  # of Huber's weights: 95 % as efficient as least squares where noise is normal
_NORMAL = 1.4826  # standard deviations in a median absolute deviation
_ITERATIONS = 30
_RESAMPLES = 100


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A measured time, and how often each parameter is in it by the model:
    `seconds = latencies L + overheads o + nbytes G + reduced gamma`.

    Observations of one `kind` are repeats of one experiment over sizes.
    """

    kind: str
    seconds: float
    latencies: float = 0.0
    overheads: float = 0.0
    nbytes: float = 0.0
    reduced: float = 0.0


def one_way(nbytes: int, seconds: float) -> Observation:
    """Return a ping-pong: half the time of a message and its answer, both of `nbytes`."""
    return Observation(kind="one_way", seconds=seconds, latencies=1, overheads=2, nbytes=nbytes)


def train(messages: int, nbytes: int, seconds: float) -> Observation:
    """Return messages sent one after another, until an empty answer to the last has come back."""
    return Observation(
        kind="train",
        seconds=seconds,
        latencies=2,
        overheads=messages + 3,
        nbytes=messages * nbytes,
    )


def reduction(nbytes: int, seconds: float) -> Observation:
    """Return an addition of `nbytes` to as many."""
    return Observation(kind="reduction", seconds=seconds, reduced=nbytes)


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkFit:
    """A link, half the width of each parameter's 95 % interval, and how far off the model is:
    `residuals`, (measured - model) / measured, one an observation."""

    link: Link
    uncertainty: Link
    residuals: FloatArray


def fit_link(observations: Iterable[Observation], *, seed: int = 0) -> LinkFit:
    """Fit a link by least squares of relative errors, robustly, no parameter below 0.

    Relative, so that a microsecond of a small message counts as much as a millisecond of a large
    one; with Huber's weights, iterated, so that a call which something else held up counts little.
    Uncertainties are by bootstrap, within each kind of observation, and so those of noise: what the
    model cannot say is in the residuals. Raises ValueError where there are no observations.
    """
    rows = list(observations)
    if not rows:
        raise ValueError("a link cannot be fitted to no observations")
    counts = np.array([(r.latencies, r.overheads, r.nbytes, r.reduced) for r in rows], dtype=float)
    seconds = np.array([r.seconds for r in rows])
    relative = counts / seconds[:, None]
    best = _robust(relative)
    kinds = np.array([r.kind for r in rows])
    groups = [np.flatnonzero(kinds == kind) for kind in dict.fromkeys(kinds.tolist())]
    generator = np.random.default_rng(seed)
    draws = np.empty((_RESAMPLES, len(best)))
    for draw in draws:
        chosen = np.concatenate([generator.choice(own, size=len(own)) for own in groups])
        draw[:] = _robust(relative[chosen])
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    return LinkFit(
        link=_link(best),
        uncertainty=_link((high - low) / 2),
        residuals=1 - relative @ best,
    )


def _link(values: FloatArray) -> Link:
    latency, overhead, byte_time, reduce_time = values.tolist()
    return Link(latency=latency, overhead=overhead, byte_time=byte_time, reduce_time=reduce_time)


def _robust(relative: FloatArray) -> FloatArray:
    """Return x >= 0 that brings `relative @ x` near 1, by iteratively reweighted least squares."""
    weights = np.ones(len(relative))
    found = np.zeros(relative.shape[1])
    for _ in range(_ITERATIONS):
        before = found
        found = _non_negative(relative * weights[:, None], weights)
        errors = np.abs(1 - relative @ found)
        limit = _TUNING * max(_NORMAL * float(np.median(errors)), 1e-9)
        # square roots, since both sides are multiplied by them
        weights = np.sqrt(limit / np.maximum(errors, limit))
        if np.allclose(found, before, rtol=1e-9, atol=0.0):
            break
    return found


def _non_negative(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Return the least squares solution with no entry below 0, dropping the most negative first."""
    scale = np.linalg.norm(matrix, axis=0)
    kept = scale > 0
    found = np.zeros(len(scale))
    while kept.any():
        # columns of a size: seconds and bytes differ by nine orders of magnitude
        solution = np.linalg.lstsq(matrix[:, kept] / scale[kept], target, rcond=None)[0]
        found[:] = 0.0
        found[kept] = solution / scale[kept]
        if (solution >= 0).all():
            break
        kept[np.flatnonzero(kept)[solution.argmin()]] = False
    return found
