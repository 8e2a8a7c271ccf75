"""What servers were at during a trial: how busy, how long their queue, what they had to drop."""

import math
from collections.abc import Iterable
from itertools import chain

import numpy as np
import numpy.typing as npt
import pandas as pd

from psbench.results import TrialRow

SERVER_MEASURES = (
    "server_receiving_share",
    "server_applying_share",
    "server_sending_share",
    "queue_mean",
    "queue_max",
    "version_spread_mean",
    "version_spread_max",
    "dropped_share",
)


def server_measures(row: TrialRow, timed: pd.DataFrame) -> dict[str, float]:
    """Return SERVER_MEASURES of one trial from its summary and its `timed` step rows.

    NaN where there is no server, or nothing was told.
    """
    comparable = timed if row.one_clock else timed.iloc[:0]
    return _shares(row) | _queue(queue_lengths(comparable)) | _spread(timed) | _dropped(row)


def queue_lengths(steps: pd.DataFrame) -> pd.DataFrame:
    """Return how many requests lay before the servers: columns `seconds` and `length`.

    A row a change, in the order of time: `length` holds from then until the next. A request lies
    there from when its rank posts it until its server turns to it; those to all servers count.
    Seconds count from the first step's begin. Empty where `steps`, rows of one trial, tell of no
    server. Where ranks and servers have clocks of their own they mean nothing.
    """
    asked = steps[steps["turns"].map(len) > 0]
    pairs = zip(asked["enters"], asked["enter_s"], strict=True)
    posted = _readings(several if len(several) else (one,) for several, one in pairs)
    turned = np.maximum(_readings(asked["turns"]), posted)
    moments = np.concatenate([posted, turned])
    order = np.argsort(moments, kind="stable")
    changes = np.repeat([1, -1], len(posted))[order]
    begin = float(steps["begin_s"].min()) if len(steps) else 0.0
    lengths = pd.DataFrame({"seconds": moments[order] - begin, "length": np.cumsum(changes)})
    return lengths.drop_duplicates("seconds", keep="last", ignore_index=True)


def _readings(rows: Iterable[Iterable[float]]) -> npt.NDArray[np.float64]:
    return np.fromiter(chain.from_iterable(rows), dtype=float)


def _queue(lengths: pd.DataFrame) -> dict[str, float]:
    if len(lengths) < 2:
        return {"queue_mean": math.nan, "queue_max": math.nan}
    lasted = np.diff(lengths["seconds"])
    mean = np.average(lengths["length"][:-1], weights=lasted)
    return {"queue_mean": float(mean), "queue_max": float(lengths["length"].max())}


def _shares(row: TrialRow) -> dict[str, float]:
    """Return the busiest server's shares of the timed part."""
    servers = zip(row.server_receiving_s, row.server_applying_s, row.server_sending_s, strict=True)
    busiest = max(servers, key=sum, default=(math.nan,) * 3)
    return {
        name: seconds / row.seconds if row.seconds > 0 else math.nan
        for name, seconds in zip(SERVER_MEASURES[:3], busiest, strict=True)
    }


def _spread(timed: pd.DataFrame) -> dict[str, float]:
    spread = timed["version_spread"][timed["version_spread"] >= 0]
    known = len(spread) > 0
    return {
        "version_spread_mean": float(spread.mean()) if known else math.nan,
        "version_spread_max": float(spread.max()) if known else math.nan,
    }


def _dropped(row: TrialRow) -> dict[str, float]:
    dropped = row.pushes_dropped or 0
    settled = (row.pushes_applied or 0) + dropped
    return {"dropped_share": dropped / settled if settled else math.nan}
