"""The parameter server at work: exactly once, one version a reply, staleness that adds up."""

from itertools import pairwise

import pytest
import torch

from psbench.live.job import DIVERGED, OK
from psbench.spec import Spec


def make_cell(strategy, workers, task=None, **fields):
    spec = Spec(
        name="async",
        task=task
        or {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.0}},
        steps=fields.pop("steps", 40),
        strategy=strategy,
        workers=workers,
        **({} if task else {"batch": {"per_worker": 16}}),
        **fields,
    )
    return spec.cells()[0]


@pytest.mark.parametrize(
    ("transport", "apart"), [("gloo", False), ("shared_memory", False), ("auto", True)]
)
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_every_push_is_applied_and_answered_once(workers, transport, apart, run_trial):
    cell = make_cell("ps-async", workers, transport=transport)
    outcome = run_trial(cell, apart=apart)
    *workers_reports, server = outcome.reports
    sent = sum(report.pushes_sent for report in workers_reports)
    acknowledged = sum(report.pushes for report in workers_reports)
    assert sent == acknowledged == server.pushes
    # the trial ends at steps x p; what was under way then still counts as applied
    assert cell.steps * workers <= server.pushes <= cell.steps * workers + workers - 1
    versions = sorted(row.version for row in outcome.rows)
    assert versions == list(range(1, server.pushes + 1))


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_staleness_adds_up_to_the_versions_each_worker_saw(workers, run_trial):
    outcome = run_trial(make_cell("ps-async", workers))
    for rank in range(workers):
        rows = sorted((r for r in outcome.rows if r.rank == rank), key=lambda r: r.step)
        assert rows[0].pulled_version == 0
        for before, after in pairwise(rows):
            assert after.pulled_version == before.version
        assert all(row.staleness == row.version - 1 - row.pulled_version for row in rows)
        span = rows[-1].version - rows[0].pulled_version
        assert sum(row.staleness + 1 for row in rows) == span


@pytest.mark.parametrize(
    ("transport", "apart"), [("gloo", False), ("shared_memory", False), ("auto", True)]
)
@pytest.mark.parametrize("strategy", ["ps-sync", "ps-async"])
def test_no_reply_mixes_two_versions(strategy, transport, apart, run_trial):
    """Each push is one number throughout, so the server's vector is one number at each version."""
    workers, seen = 4, []

    def mark_pushes(nodes):
        for rank, node in enumerate(nodes[:workers]):
            learner = node.learner

            def compute(step, *, learner=learner, rank=rank, **_):
                if step:
                    seen.append(learner.parameters.unique().tolist())
                learner.gradients.fill_(float(1000 * step + rank))
                return 0

            learner.compute = compute

    cell = make_cell(strategy, workers, {"payload": "4 MB"}, steps=15, transport=transport)
    run_trial(cell, prepare=mark_pushes, apart=apart)
    assert len(seen) >= 14 * workers
    assert all(len(values) == 1 for values in seen)
    if strategy == "ps-sync":  # the sum over ranks of 1000 step + rank
        sums = {4 * 1000 * step + 6 for step in range(14)}
        assert {values[0] for values in seen} == sums


def test_synchronous_versions_are_never_stale(run_trial):
    outcome = run_trial(make_cell("ps-sync", 3))
    assert {row.staleness for row in outcome.rows} == {0}
    assert [report.pushes for report in outcome.reports] == [40, 40, 40, 120]


@pytest.mark.parametrize("strategy", ["ring", "ps-sync", "ps-async", "none"])
def test_checkpoints_and_timed_part(strategy, run_trial):
    cell = make_cell(strategy, 2, steps=10, warmup=3, eval_every=4)
    outcome = run_trial(cell)
    keeper = outcome.nodes[-1] if cell.servers else outcome.nodes[0]
    report = outcome.reports[-1] if cell.servers else outcome.reports[0]
    assert [point.step for point in keeper.checkpoints] == [4, 8, 10]
    assert [point.samples for point in keeper.checkpoints] == [128, 256, 320]
    assert report.steps >= 10
    assert report.samples == 7 * 16 * (2 if cell.servers else 1)
    seconds = [point.seconds for point in keeper.checkpoints]
    assert 0 < seconds[0] < seconds[1] < seconds[2] <= report.seconds


@pytest.mark.parametrize("strategy", ["ring", "tree", "ps-sync", "native"])
def test_a_diverging_trial_ends_on_all_ranks_at_one_step(strategy, run_trial):
    task = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 1000.0}}
    spec = Spec(
        name="x", task=task, batch={"per_worker": 8}, steps=200, strategy=strategy, workers=3
    )
    outcome = run_trial(spec.cells()[0])
    assert {report.status for report in outcome.reports} == {DIVERGED}
    steps = {max(row.step for row in outcome.rows if row.rank == rank) for rank in range(3)}
    assert len(steps) == 1
    assert steps.pop() < 199


def test_a_diverging_asynchronous_trial_ends(run_trial):
    task = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 1000.0}}
    spec = Spec(
        name="x", task=task, batch={"per_worker": 8}, steps=200, strategy="ps-async", workers=3
    )
    outcome = run_trial(spec.cells()[0])
    assert {report.status for report in outcome.reports} == {DIVERGED}
    *workers, server = outcome.reports
    assert sum(report.pushes for report in workers) == server.pushes < 600


@pytest.mark.parametrize("nbytes", ["0 B", "4 B", "8 B", "12 B"])
@pytest.mark.parametrize("strategy", ["ring", "tree", "ps-sync", "ps-async", "native", "none"])
def test_tiny_payloads(strategy, nbytes, run_trial):
    cell = make_cell(strategy, 3, {"payload": nbytes}, steps=4)
    outcome = run_trial(cell)
    assert {report.status for report in outcome.reports} == {OK}
    if strategy in ("ring", "tree", "native"):
        for node in outcome.nodes:
            assert torch.equal(node.learner.gradients, torch.full_like(node.learner.gradients, 3))
    if strategy == "ps-sync":
        for node in outcome.nodes[:3]:
            assert torch.equal(node.learner.parameters, torch.full_like(node.learner.parameters, 3))


@pytest.mark.parametrize("strategy", ["ring", "ps-sync", "none"])
def test_a_checkpoint_holds_the_parameters_of_its_step(strategy, run_trial):
    longer = run_trial(make_cell(strategy, 2, steps=10, eval_every=4))
    keeper = longer.nodes[-1] if strategy == "ps-sync" else longer.nodes[0]
    for point in keeper.checkpoints:
        ended_there = run_trial(make_cell(strategy, 2, steps=point.step))
        assert torch.equal(point.parameters, ended_there.nodes[0].learner.parameters)


@pytest.mark.parametrize("strategy", ["none", "ring"])
def test_the_timed_part_of_all_ranks_begins_at_once(strategy, run_trial):
    """Each rank of `none` would else be timed in a span of its own, and their sum be too fast."""
    cell = make_cell(strategy, 3, steps=30, warmup=10)
    outcome = run_trial(cell)
    last_warmup = max(row.end_s for row in outcome.rows if row.step == 9)
    first_timed = min(row.begin_s for row in outcome.rows if row.step == 10)
    assert last_warmup <= first_timed


def test_a_rank_that_diverges_alone_while_it_warms_up_keeps_nobody_waiting(run_trial):
    def poison(nodes):
        nodes[1].learner.parameters.fill_(float("nan"))

    outcome = run_trial(make_cell("none", 3, steps=30, warmup=10), prepare=poison)
    assert [report.status for report in outcome.reports] == [OK, DIVERGED, OK]
    assert [report.steps for report in outcome.reports] == [30, 1, 30]
