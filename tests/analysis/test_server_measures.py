"""What is derived of servers, on rows whose figures are known."""

import math

import pandas as pd
import pytest

from psbench.analysis import load
from psbench.analysis.server_measures import SERVER_MEASURES, queue_lengths, server_measures
from psbench.results import StepRow


def frame(rows):
    return pd.DataFrame(rows, columns=StepRow._fields)


@pytest.fixture
def pushes(step_row):
    """Three ranks push at 104, 105 and 106; the server turns to them at 104, 108 and 109."""
    return frame(
        [
            step_row(0, enter_s=104.0, turns=(104.0,)),
            step_row(1, enter_s=105.0, turns=(108.0,)),
            step_row(2, enter_s=106.0, turns=(109.0,)),
        ]
    )


def test_requests_lie_before_the_servers_until_they_turn_to_them(pushes):
    lengths = queue_lengths(pushes)
    assert list(lengths["seconds"]) == [4.0, 5.0, 6.0, 8.0, 9.0]
    assert list(lengths["length"]) == [0, 1, 2, 1, 0]


def test_the_mean_queue_is_over_time_and_by_littles_law(pushes, trial_row):
    measures = server_measures(trial_row("a"), pushes)
    waited = (108 - 105) + (109 - 106)
    assert measures["queue_mean"] == pytest.approx(waited / (109 - 104))
    assert measures["queue_max"] == 2


def test_of_several_shards_each_request_counts(step_row):
    row = step_row(enters=(104.0, 104.5), exits=(107.0, 108.0), turns=(105.0, 106.5))
    lengths = queue_lengths(frame([row]))
    assert list(lengths["seconds"]) == [4.0, 4.5, 5.0, 6.5]
    assert list(lengths["length"]) == [1, 2, 1, 0]


def test_a_server_may_turn_to_a_request_before_its_rank_looks_at_the_clock(step_row):
    lengths = queue_lengths(frame([step_row(enter_s=104.0, turns=(103.9,))]))
    assert list(lengths["length"]) == [0]


@pytest.mark.parametrize("turns", [(), (105.0,)])
def test_nothing_is_said_of_a_queue_that_is_not_known(turns, step_row, trial_row):
    rows = frame([step_row(turns=turns)])
    measures = server_measures(trial_row("a", one_clock=not turns), rows)
    assert measures.keys() == set(SERVER_MEASURES)
    assert all(math.isnan(value) for value in measures.values())


def test_the_shares_are_those_of_the_busiest_server(step_row, trial_row):
    row = trial_row(
        "a",
        seconds=10.0,
        server_receiving_s=(1.0, 2.0),
        server_applying_s=(3.0, 4.0),
        server_sending_s=(5.5, 1.0),
    )
    measures = server_measures(row, frame([step_row()]))
    assert measures["server_receiving_share"] == pytest.approx(0.1)
    assert measures["server_applying_share"] == pytest.approx(0.3)
    assert measures["server_sending_share"] == pytest.approx(0.55)


def test_a_trial_without_a_timed_part_has_no_shares(step_row, trial_row):
    row = trial_row("a", seconds=0.0, **dict.fromkeys(_OF_SERVERS, (1.0,)))
    assert math.isnan(server_measures(row, frame([step_row()]))["server_applying_share"])


_OF_SERVERS = ("server_receiving_s", "server_applying_s", "server_sending_s")


def test_dropped_pushes_are_told_as_a_share_of_all(step_row, trial_row):
    row = trial_row("a", pushes_applied=30, pushes_dropped=10)
    assert server_measures(row, frame([step_row()]))["dropped_share"] == pytest.approx(0.25)


def test_how_far_versions_of_shards_are_apart(step_row, trial_row):
    rows = frame([step_row(version_spread=spread) for spread in (0, 3, 0, 1)])
    measures = server_measures(trial_row("a"), rows)
    assert measures["version_spread_mean"] == pytest.approx(1.0)
    assert measures["version_spread_max"] == 3


def test_a_run_has_them_in_trials_summary_and_as_a_frame(cell, step_row, trial_row, write_run):
    served = cell("ps-async")
    steps = [step_row(r, s, turns=(100.0 * s + 5.0,)) for s in (0, 1) for r in (0, 1)]
    own = trial_row(
        served["id"],
        pushes_applied=6,
        pushes_dropped=2,
        server_receiving_s=(0.6,),
        server_applying_s=(1.2,),
        server_sending_s=(0.3,),
    )
    results = load(write_run([served], [own], steps={(served["id"], 0): steps}))
    (summary,) = results.summary().to_dict("records")
    assert summary["server_receiving_share"] == pytest.approx(0.1)
    assert summary["server_applying_share"] == pytest.approx(0.2)
    assert summary["server_sending_share"] == pytest.approx(0.05)
    assert summary["queue_max"] == 2
    assert summary["dropped_share"] == pytest.approx(0.25)
    (trial,) = results.trials.to_dict("records")
    assert trial["queue_mean"] == 2.0  # both lie there for as long as any does
    queue = results.queue
    assert list(queue["seconds"]) == [4.0, 5.0, 104.0, 105.0]
    assert list(queue["length"]) == [2, 0, 2, 0]
    assert set(queue["strategy"]) == {"ps-async"}


def test_without_servers_the_queue_is_an_empty_frame(cell, step_row, trial_row, write_run):
    ring = cell()
    steps = {(ring["id"], 0): [step_row()]}
    results = load(write_run([ring], [trial_row(ring["id"])], steps=steps))
    assert len(results.queue) == 0
    assert {"seconds", "length", "strategy"} <= set(results.queue.columns)
