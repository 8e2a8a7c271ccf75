"""How sure a ratio is that was measured in a few pairs.

The ratio is the geometric mean of the pairs' own ratios, so that B over A is one over A over B, and
its bounds are Student's: a paired t interval of the logarithms, taken back. It asks that the
logarithms of the ratios scatter roughly as a normal distribution does, which durations and rates
mostly do once what disturbs both trials of a pair cancels. Bounds from order statistics ask
nothing, but 6 pairs at least before they can hold in 95 % of cases, and a run has 3 to 5.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
_MIN_PAIRS = 2


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio over pairs with its two-sided bounds; NaN where there are too few pairs."""

    ratio: float
    low: float
    high: float
    num_pairs: int


def paired_ratio(
    values: npt.ArrayLike, baselines: npt.ArrayLike, confidence: float = CONFIDENCE
) -> Ratio:
    """Return how `values` compare with `baselines`, both of shape (pairs,).

    A pair counts where both are finite and above zero. Bounds need 2 pairs, the ratio 1.
    """
    pairs = np.stack([np.asarray(values, float), np.asarray(baselines, float)])
    pairs = pairs[:, (np.isfinite(pairs) & (pairs > 0)).all(axis=0)]
    logs = np.log(pairs[0] / pairs[1])
    if len(logs) == 0:
        return Ratio(ratio=math.nan, low=math.nan, high=math.nan, num_pairs=0)
    mean = float(logs.mean())
    half = math.nan
    if len(logs) >= _MIN_PAIRS:
        error = float(logs.std(ddof=1)) / math.sqrt(len(logs))
        half = t_quantile((1 + confidence) / 2, len(logs) - 1) * error
    return Ratio(
        ratio=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        num_pairs=len(logs),
    )


def t_quantile(probability: float, freedom: int) -> float:
    """Return the value that Student's t with `freedom` degrees is below with `probability`.

    Between 0.5 and 1, exclusive; found by halving, to the last bits.
    """
    assert 0.5 < probability < 1, f"probability {probability} is not between 0.5 and 1"
    assert freedom >= 1, f"{freedom} degrees of freedom"
    # t = sqrt(freedom) tan(angle): a quarter turn holds every quantile there is
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if (1 + _within(middle, freedom)) / 2 < probability:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """Return the probability that abs(t) <= sqrt(freedom) tan(angle).

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        total += term
    inside = math.sin(angle) * total
    return 2 / math.pi * (angle + inside) if odd else inside
