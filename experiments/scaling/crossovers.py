"""Where one strategy overtakes another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd
from figures import ALL_REDUCES, ONE_EACH, SERVERS

BEST = "best all-reduce"
FEWEST = 2  # one worker has nobody to agree with


@dataclass(frozen=True, kw_only=True)
class Crossover:
    """From so many workers on, `ahead` does more than `behind`, and did less before."""

    workers: float
    height: float
    """of both there"""
    ahead: str
    behind: str


def crossings(
    workers: Sequence[int], first: Sequence[float], second: Sequence[float]
) -> list[tuple[float, float, bool]]:
    """Return where two lines cross that are straight between their points on a logarithmic axis of
    `workers`: there, how high, and whether the first is the higher one after it.

    Lines that touch and part as they came do not cross; where they run together for a while they
    cross at the end of it. A missing value, NaN, is on no side.
    """
    points = [
        (one, a - b, a)
        for one, a, b in zip(workers, first, second, strict=True)
        if not math.isnan(a - b)
    ]
    apart = [place for place, (_, gap, _) in enumerate(points) if gap]
    found = []
    for before, after in pairwise(apart):
        if (points[before][1] > 0) == (points[after][1] > 0):
            continue
        (left, gap, height), (right, later_gap, later_height) = points[after - 1], points[after]
        share = gap / (gap - later_gap)
        at = left * (right / left) ** share
        found.append((at, height + share * (later_height - height), later_gap > 0))
    return found


def crossovers(shares: pd.DataFrame) -> list[Crossover]:
    """Return those of `figures.efficiencies` that answer a question, by workers: from when on the
    best all-reduce is ahead of servers, and who overtakes the ring."""
    many = shares[shares.index >= FEWEST]
    best = many[list(ALL_REDUCES)].max(axis=1)
    pairs = [(BEST, best, name) for name in SERVERS if name != ONE_EACH]
    pairs += [(name, many[name], "ring") for name in (ONE_EACH, "tree", "double tree")]
    found = [
        Crossover(workers=at, height=height, ahead=ahead, behind=behind)
        for ahead, line, behind in pairs
        for at, height, leads in crossings(list(many.index), list(line), list(many[behind]))
        if leads
    ]
    return sorted(found, key=lambda one: one.workers)
