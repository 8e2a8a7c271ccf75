"""What servers were at during a trial: how busy, how long their queue, what they had to drop."""

import math
from collections.abc import Callable, Iterable
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


def server_measures(
    row: TrialRow, timed: pd.DataFrame, *, virtual: bool = False
) -> dict[str, float]:
    """Return SERVER_MEASURES of one trial, `virtual` or live, from its summary and its `timed` step
    rows.

    NaN where there is no server, or nothing was told.
    """
    comparable = timed if row.one_clock else timed.iloc[:0]
    shares = _shares(row, busy=max if virtual else sum)
    return shares | _queue(queue_lengths(comparable)) | _spread(timed) | _dropped(row)


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


def busy_share(summary: pd.DataFrame) -> "pd.Series[float]":
    """Return the share of the time in which the busiest server of each of a summary's cells does
    not wait.

    A live server's loop does one thing at a time, and its shares add up. In virtual time they are
    those of its port, each way, and of what makes updates, which go on side by side: it is as busy
    as the busiest of them.
    """
    shares = summary[list(SERVER_MEASURES[:3])]
    live: pd.Series[float] = shares.sum(axis=1, min_count=shares.shape[1])
    return live.where(summary["engine"] != "simulated", shares.max(axis=1))


def _shares(row: TrialRow, busy: Callable[[Iterable[float]], float]) -> dict[str, float]:
    """Return the shares of the timed part of the server that is busiest, of its `busy` seconds."""
    servers = zip(row.server_receiving_s, row.server_applying_s, row.server_sending_s, strict=True)
    busiest = max(servers, key=busy, default=(math.nan,) * 3)
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
