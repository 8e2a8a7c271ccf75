"""The derived measures against figures worked out by hand."""

import math

import pandas as pd
import pytest

from psbench.analysis.measures import (
    busiest_bytes_per_step,
    derive_steps,
    peak_memory,
    step_measures,
    synchronisation,
    target_measures,
)


def _derived(rows, kind="synchronous", workers=2, one_clock=True):
    frame = pd.DataFrame(rows, columns=list(rows[0]._fields))
    return derive_steps(frame, kind=kind, workers=workers, one_clock=one_clock)


def _evals(*accuracies, loss=0.5):
    """Return evaluations one step, of 16 samples and 2 s, apart."""
    rows = [
        {"step": n, "samples": 16 * n, "seconds": 2.0 * n, "loss": loss, "accuracy": accuracy}
        for n, accuracy in enumerate(accuracies, 1)
    ]
    return pd.DataFrame(rows, columns=["step", "samples", "seconds", "loss", "accuracy"])


TRAINED = {"step": 9, "samples": 90, "seconds": 99.0}


def test_each_strategy_synchronises_as_it_says(strategies):
    kinds = {name: synchronisation(fields) for name, fields in strategies.items()}
    assert kinds == {
        "ring": "synchronous",
        "tree": "synchronous",
        "native": "synchronous",
        "ddp": "unseen",
        "ps-sync": "synchronous",
        "ps-async": "asynchronous",
        "none": "none",
        "bare": "none",
    }


def test_local_steps_synchronise_as_what_they_go_over():
    server = {"kind": "parameter_server", "consistency": "asynchronous"}
    over = {"kind": "all_reduce", "algorithm": "ring"}
    assert synchronisation({"kind": "diloco", "every": 8, "over": over}) == "synchronous"
    assert synchronisation({"kind": "easgd", "every": 8, "over": server}) == "asynchronous"


def test_a_rank_waits_for_the_latest_entry_and_the_rest_is_communication(step_row):
    # Rank 0 enters at 104 and rank 1 at 106.5; both leave at 109; the server takes 0.5 s.
    rows = [
        step_row(0, 1, enter_s=104.0, exit_s=109.0, server_update_s=0.5, end_s=110.0),
        step_row(1, 1, enter_s=106.5, exit_s=109.0, server_update_s=0.5, end_s=110.0),
    ]
    derived = _derived(rows)
    assert derived["step_s"].tolist() == [10.0, 10.0]
    assert derived["sync_s"].tolist() == [5.0, 2.5]
    assert derived["wait_s"].tolist() == [2.5, 0.0]
    assert derived["comm_s"].tolist() == [2.0, 2.0]


def test_ranks_wait_for_those_of_their_own_step_alone(step_row):
    rows = [step_row(rank, step, enter_s=step + 0.1 * rank) for step in (1, 2) for rank in (0, 1)]
    assert _derived(rows)["wait_s"].tolist() == pytest.approx([0.1, 0.0, 0.1, 0.0])


def test_the_queue_plays_the_part_of_the_wait_where_pushes_are_asynchronous(step_row):
    rows = [step_row(0, queue_s=1.5, server_update_s=0.5), step_row(1, enter_s=105.0, queue_s=0.0)]
    derived = _derived(rows, kind="asynchronous")
    assert derived["wait_s"].isna().all()
    assert derived["comm_s"].tolist() == [4.0 - 1.5 - 0.5, 3.0]


def test_a_step_between_two_pushes_queues_for_nothing(step_row):
    alone = {"enter_s": 204.0, "exit_s": 204.0}
    rows = [step_row(0, 1, queue_s=1.5), step_row(0, 2, **alone)]
    derived = _derived(rows, kind="asynchronous", workers=1)
    assert derived["comm_s"].tolist() == [2.5, 0.0]
    several = _derived(rows, kind="asynchronous", workers=1, one_clock=False)
    assert several["comm_s"].isna().all()


def test_a_step_between_two_sums_has_no_buckets(step_row):
    moment = {"enter_s": 204.0, "exit_s": 204.0}
    rows = [
        step_row(0, 1, enters=(104.0, 107.0), exits=(107.0, 108.0)),
        step_row(1, 1, enters=(105.0, 107.0), exits=(107.0, 108.0)),
        step_row(0, 2, **moment),
        step_row(1, 2, **{name: time + 1 for name, time in moment.items()}),
    ]
    derived = _derived(rows)
    assert derived["sync_s"].tolist() == [4.0, 3.0, 0.0, 0.0]
    assert derived["wait_s"].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert derived["comm_s"].tolist() == [3.0, 3.0, 0.0, 0.0]


def test_without_synchronisation_nothing_waits_or_communicates(step_row):
    rows = [step_row(0, exit_s=104.001), step_row(1, enter_s=106.0, exit_s=106.0)]
    derived = _derived(rows, kind="none")
    assert derived["wait_s"].tolist() == [0.0, 0.0]
    assert derived["comm_s"].tolist() == [0.0, 0.0]


def test_buckets_that_computing_hides(step_row):
    # Both compute from 100 to 110. Rank 0 enters its three buckets at 103, 106, 112, rank 1 at 104,
    # 106, 111; they leave at 105, 112, 114.
    rows = [
        step_row(0, compute_s=10.0, enters=(103.0, 106.0, 112.0), exits=(105.0, 112.0, 114.0)),
        step_row(1, compute_s=10.0, enters=(104.0, 106.0, 111.0), exits=(105.0, 112.0, 114.0)),
    ]
    derived = _derived(rows)
    assert derived["sync_s"].tolist() == [2 + 6 + 2, 1 + 8]  # rank 1 has two in flight at 111
    assert derived["wait_s"].tolist() == [1.0, 1.0]
    assert derived["comm_s"].tolist() == [1 + 6 + 2, 1 + 6 + 2]
    assert derived["exposed_sync_s"].tolist() == [4.0, 4.0]
    assert derived["exposed_comm_s"].tolist() == [4.0, 4.0]
    several = _derived(rows, one_clock=False)
    assert several["sync_s"].tolist() == [10.0, 9.0]
    assert several["exposed_sync_s"].tolist() == [4.0, 4.0]
    for name in ("wait_s", "comm_s", "exposed_comm_s"):
        assert several[name].isna().all()


def test_without_overlap_all_is_exposed(step_row):
    whole = _derived([step_row(0), step_row(1, enter_s=106.0)])
    cut = _derived(
        [
            step_row(0, enters=(104.0, 107.0), exits=(107.0, 108.0)),
            step_row(1, enter_s=106.0, enters=(106.0, 107.0), exits=(107.0, 108.0)),
        ]
    )
    for derived in (whole, cut):
        assert derived["sync_s"].tolist() == [4.0, 2.0]
        assert derived["wait_s"].tolist() == [2.0, 0.0]
        assert derived["comm_s"].tolist() == [2.0, 2.0]
        assert derived["exposed_sync_s"].tolist() == [4.0, 2.0]
        assert derived["exposed_comm_s"].tolist() == [2.0, 2.0]


def test_what_goes_on_inside_computing_is_unseen(step_row):
    derived = _derived([step_row(0), step_row(1)], kind="unseen")
    assert derived["step_s"].tolist() == [10.0, 10.0]
    for name in ("sync_s", "wait_s", "comm_s", "exposed_sync_s", "exposed_comm_s"):
        assert derived[name].isna().all()


def test_one_worker_never_waits_on_any_clock(step_row):
    derived = _derived([step_row()], workers=1, one_clock=False)
    assert derived["wait_s"].tolist() == [0.0]
    assert derived["comm_s"].tolist() == [4.0]


def test_clocks_of_two_kernels_are_not_subtracted(step_row):
    derived = _derived([step_row(0), step_row(1)], one_clock=False)
    assert derived["wait_s"].isna().all()
    assert derived["comm_s"].isna().all()
    assert derived["sync_s"].tolist() == [4.0, 4.0]


def test_the_latest_entry_is_unknown_while_a_rank_is_missing(step_row):
    derived = _derived([step_row(0, 1), step_row(1, 1), step_row(0, 2)])
    assert derived["wait_s"].isna().tolist() == [False, False, True]


def test_a_server_updates_no_longer_than_a_synchronisation_lasts(step_row):
    rows = [step_row(0, server_update_s=5.0), step_row(1)]
    derived = _derived(rows)
    assert derived["comm_s"].tolist() == [0.0, 4.0]
    assert derived["exposed_server_update_s"].tolist() == [4.0, 0.0]


def test_the_busiest_node_is_the_one_with_most_bytes_in_one_direction():
    assert busiest_bytes_per_step((10, 40, 20), (30, 10, 80), 4) == 20.0
    assert math.isnan(busiest_bytes_per_step((), (), 4))
    assert math.isnan(busiest_bytes_per_step((1,), (1,), 0))


def test_peak_memory_is_that_of_the_largest_worker_and_server():
    expected = {"worker_peak_memory": 7.0, "server_peak_memory": 9.0}
    assert peak_memory((5, 7, 9), workers=2) == expected
    assert peak_memory((5, 7), workers=2)["worker_peak_memory"] == 7.0
    assert math.isnan(peak_memory((5, 7), workers=2)["server_peak_memory"])
    assert all(math.isnan(value) for value in peak_memory((), workers=2).values())


def test_staleness_and_percentiles_are_over_all_ranks_and_steps(step_row):
    rows = [step_row(0, step, staleness=step, end_s=100.0 * step + step) for step in range(1, 102)]
    measures = step_measures(_derived(rows, kind="asynchronous", workers=1))
    assert measures["step_s"] == 51.0
    assert measures["step_p95_s"] == 96.0
    assert measures["staleness_mean"] == 51.0
    assert measures["staleness_p95"] == 96.0
    assert measures["staleness_max"] == 101.0


def test_without_a_server_there_is_no_staleness(step_row):
    assert math.isnan(step_measures(_derived([step_row()], workers=1))["staleness_mean"])


def test_the_first_evaluation_at_or_over_the_target_counts():
    measures = target_measures(_evals(0.5, 0.9, 0.8, 0.95), {"accuracy": 0.9}, TRAINED)
    assert measures["steps_to_target"] == 2
    assert measures["samples_to_target"] == 32
    assert measures["time_to_target_s"] == 4.0
    assert measures["time_to_target_s_bound"] == 4.0


def test_a_target_never_reached_is_censored_at_the_last_evaluation():
    measures = target_measures(_evals(0.5, 0.6, math.nan), {"accuracy": 0.9}, TRAINED)
    assert measures["time_to_target_s"] == math.inf
    assert measures["time_to_target_s_bound"] == 6.0
    assert measures["samples_to_target_bound"] == 48


def test_a_trial_that_ended_before_its_first_evaluation_is_censored_where_it_ended():
    measures = target_measures(_evals(), {"accuracy": 0.9}, TRAINED)
    assert measures["steps_to_target"] == math.inf
    assert measures["steps_to_target_bound"] == 9
    assert measures["time_to_target_s_bound"] == 99.0


def test_a_loss_is_reached_from_above():
    target = {"accuracy": None, "loss": 0.5}
    assert target_measures(_evals(None, loss=0.5), target, TRAINED)["steps_to_target"] == 1
    assert target_measures(_evals(None, loss=0.6), target, TRAINED)["steps_to_target"] == math.inf


def test_without_a_target_there_is_nothing_to_reach():
    assert all(math.isnan(value) for value in target_measures(_evals(1.0), None, TRAINED).values())


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"consistency": "synchronous"}, "synchronous"),
        ({"consistency": "synchronous", "backup": 1}, "asynchronous"),
        ({"consistency": "bounded_staleness", "bound": 3}, "asynchronous"),
        ({"consistency": "asynchronous"}, "asynchronous"),
    ],
)
def test_who_waits_under_a_servers_rule(fields, kind):
    assert synchronisation({"kind": "parameter_server", **fields}) == kind


def test_what_was_dropped_has_no_staleness(step_row):
    rows = [step_row(0, 1, staleness=7, dropped=1), step_row(0, 2, staleness=3)]
    measures = step_measures(_derived(rows, workers=1))
    assert (measures["staleness_mean"], measures["staleness_max"]) == (3.0, 3.0)
