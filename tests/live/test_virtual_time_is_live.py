"""The engine in virtual time against real loops that move real bytes: the same losses, to the bit,
the same parameters, the same bytes, wherever the order of updates does not hang on timing."""

import math

import pytest
import torch

from psbench.results import EvalRow, TrialRow
from psbench.simulated import run_trial as virtual
from psbench.spec import Cell, Trial

STEPS = 8
SGD = {"kind": "sgd", "lr": 0.1, "momentum": 0.9}
VIRTUAL = {
    "engine": "simulated",
    "network": {"bandwidth": "1 Gbit/s", "latency": "20 us", "overhead": "2 us"},
    "compute": {"seconds": "3 ms", "jitter": 0.5},
}
BUCKETS = {"bucket": "32 KiB", "overlap": True}


def all_reduce(algorithm, **options):
    return {"kind": "all_reduce", "algorithm": algorithm, **options}


def servers(consistency="synchronous", **options):
    return {"kind": "parameter_server", "consistency": consistency, **options}


CASES = {
    "ring": (3, all_reduce("ring"), {}),
    "ring of one": (1, all_reduce("ring"), {}),
    "tree in buckets": (4, all_reduce("tree", **BUCKETS), {}),
    "double tree of five": (5, all_reduce("double_tree"), {}),
    "halving-doubling of three": (3, all_reduce("halving_doubling"), {}),
    "star with roots": (4, all_reduce("star", roots=2), {}),
    "bf16": (3, all_reduce("ring", wire_dtype="bf16"), {}),
    "fp16 in buckets": (2, all_reduce("direct", wire_dtype="fp16", **BUCKETS), {}),
    "accumulated": (2, all_reduce("ring"), {"accumulate": 3}),
    "sums": (2, all_reduce("ring"), {"reduce": "sum"}),
    "alone": (3, {"kind": "none"}, {}),
    "one server": (3, servers(), {}),
    "servers in buckets": (2, servers(servers=2, **BUCKETS), {}),
    "more servers than workers": (2, servers(servers=3), {}),
    "colocated": (3, servers(placement="colocated", servers=3), {}),
    "clipped": (2, servers(clip_norm=0.05), {}),
    "stale on purpose": (3, servers("asynchronous", staleness=4), {}),
    "stale by draws": (
        2,
        servers("asynchronous", staleness={"versions": [0, 3], "weights": [1, 2]}),
        {},
    ),
    "delays compensated": (
        3,
        servers("asynchronous", staleness=2, lr_rule="delay_compensated_adaptive"),
        {},
    ),
    "by clocks": (3, servers("bounded_staleness", bound=0, reads="clock"), {}),
    "local_sgd": (3, "local_sgd:4", {}),
    "diloco over servers": (
        2,
        {"kind": "diloco", "every": 4, "over": servers(servers=2)},
        {"warmup": 4},
    ),
    "easgd": (2, {"kind": "easgd", "every": 2, "over": all_reduce("tree")}, {}),
}


def losses_of(rows):
    """Losses by rank and step; asynchronous trials go on for a while after their end."""
    return {(row.rank, row.step): row.loss for row in rows if row.step < STEPS}


@pytest.fixture
def both(run_trial):
    """`both(workers, strategy, **fields)` -> what a live trial and one in virtual time came to."""

    def run(workers, strategy, **fields):
        base = {
            "task": {"model": "digits_cnn", "optimizer": SGD},
            "batch": {"global": 32},
            "steps": STEPS,
            "warmup": 2,
            "eval_every": 4,
            "workers": workers,
            "strategy": strategy,
        } | fields
        live = run_trial(Cell(**base), seed=3, repeat=1)
        trial = Trial(cell=Cell(**base, **VIRTUAL), repeat=1, seed=3)
        outputs = list(virtual(trial, cell_id="x", attempt=1))
        rows = [row for output in outputs if isinstance(output, list) for row in output]
        evals = [output for output in outputs if isinstance(output, EvalRow)]
        (summary,) = (output for output in outputs if isinstance(output, TrialRow))
        assert summary.status == "ok", summary.error
        return live, rows, evals, summary

    return run


@pytest.mark.parametrize("name", CASES)
def test_a_trial_learns_what_a_live_one_does(both, name):
    workers, strategy, fields = CASES[name]
    live, rows, evals, _ = both(workers, strategy, **fields)
    losses = losses_of(rows)
    assert losses == losses_of(live.rows)
    assert not any(math.isnan(loss) for loss in losses.values())
    keeper = live.nodes[workers:][-1:] or live.nodes[:1]
    points = keeper[0].checkpoints
    assert [row.step for row in evals] == [point.step for point in points] == [4, 8]
    for row, point in zip(evals, points, strict=True):
        parts = [server.part(point.step) for server in live.nodes[workers:][:-1]]
        whole = torch.cat([*parts, point.parameters])
        assert (row.loss, row.accuracy) == keeper[0].learner.evaluate(whole)
        assert row.samples == point.samples


@pytest.mark.parametrize("name", CASES)
def test_a_trial_moves_what_a_live_one_does(both, name):
    workers, strategy, fields = CASES[name]
    live, rows, _, summary = both(workers, strategy, **fields)

    def told(row):
        return (
            row.samples,
            row.warmup,
            row.pulled_version,
            row.version,
            row.staleness,
            row.version_spread,
            row.dropped,
            len(row.enters),
            len(row.turns),
            row.bytes_sent,
            row.bytes_received,
            row.messages_sent,
            row.messages_received,
        )

    moved = {(row.rank, row.step): told(row) for row in rows if row.step < STEPS}
    assert moved == {(row.rank, row.step): told(row) for row in live.rows if row.step < STEPS}
    reports = live.reports
    timed = reports[workers:][-1:] or reports
    assert summary.steps == min(report.steps for report in timed)
    assert summary.samples == sum(report.samples for report in timed)
    if {row.step for row in rows} != set(range(STEPS)):
        return  # who hears of the end when depends on timing, and so what is pushed beyond it
    assert summary.bytes_sent == tuple(report.counters.bytes_sent for report in reports)
    assert summary.bytes_received == tuple(report.counters.bytes_received for report in reports)
    assert summary.messages_sent == tuple(report.counters.messages_sent for report in reports)
    if len(reports) > workers:
        assert summary.pushes_applied == sum(report.pushes for report in reports[workers:])
        assert summary.pushes_dropped == sum(r.pushes_dropped for r in reports[workers:])
        assert summary.pushes_sent == sum(report.pushes_sent for report in reports[:workers])
