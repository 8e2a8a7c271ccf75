"""Consistency rules on live servers: SSP, backup workers, staleness on purpose."""

import pytest
import torch

from psbench.live.server import Server
from psbench.spec import Spec
from psbench.training import build_learner

PAYLOAD_FREE = {"model": "digits_mlp", "dtype": "float64"}
TRANSPORTS = ["gloo", "shared_memory"]


def make_cell(workers=3, *, lr=0.1, optimizer=None, steps=12, batch=30, transport="gloo", **fields):
    strategy = {"kind": "parameter_server", **fields.pop("strategy")}
    optimizer = optimizer or {"kind": "sgd", "lr": lr}
    return Spec(
        name="rules",
        task={**PAYLOAD_FREE, "optimizer": optimizer},
        batch={"global": batch},
        steps=steps,
        strategy=strategy,
        workers=workers,
        transport=transport,
        **fields,
    ).cells()[0]


SYNC = {"consistency": "synchronous"}
ASYNC = {"consistency": "asynchronous"}


def ssp(bound, **fields):
    return {"consistency": "bounded_staleness", "bound": bound, **fields}


def distance(parameters, expected):
    return float(torch.linalg.norm(parameters - expected) / torch.linalg.norm(expected))


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_ssp_0_that_reads_whole_clocks_is_synchronous_at_lr_over_p(workers, transport, run_trial):
    batch = 10 * workers  # even slices: a rank's own mean is its share of the batch's, times p
    sync = make_cell(workers, batch=batch, strategy=SYNC, transport=transport)
    alike = make_cell(
        workers,
        batch=batch,
        lr=0.1 / workers,
        strategy=ssp(0, reads="clock"),
        transport=transport,
    )
    expected = run_trial(sync).parameters(0)
    outcome = run_trial(alike)
    for rank in range(workers):
        assert distance(outcome.parameters(rank), expected) <= 1e-10


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("bucket", [None, "4 KiB"])
@pytest.mark.parametrize(("bound", "reads"), [(0, "latest"), (1, "clock"), (2, "latest")])
def test_no_worker_is_further_ahead_than_the_bound(bound, reads, bucket, transport, run_trial):
    slow = {"seconds": "1 ms", "slow": [{"rank": 1, "factor": 10.0}]}
    strategy = ssp(bound, reads=reads) | ({"bucket": bucket} if bucket else {})
    outcome = run_trial(make_cell(strategy=strategy, compute=slow, transport=transport))
    ends = {(row.rank, row.step): row.end_s for row in outcome.rows}
    begins = {(row.rank, row.step): row.begin_s for row in outcome.rows}
    assert len(ends) >= 12 * 3
    for (_, step), begun in begins.items():
        for other in range(3):
            # who begins a step has been answered: the others had pushed the one `bound` before, and
            # so begun it
            earlier = begins.get((other, step - 1 - bound))
            if step > bound and earlier is not None:
                assert earlier < begun
    last = max(step for _, step in ends)
    assert last <= 12 + 3 * (bound + 1)
    fast = [row.held_s for row in outcome.rows if row.rank != 1]
    assert max(fast) > 0.001


def test_pushes_of_async_servers_are_all_accounted_for(run_trial):
    outcome = run_trial(make_cell(strategy=ssp("inf")))
    workers, server = outcome.reports[:3], outcome.reports[3]
    assert sum(report.pushes for report in workers) == server.pushes
    assert server.pushes >= 12 * 3


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("bucket", [None, "4 KiB"])
def test_a_backup_worker_is_not_waited_for(bucket, transport, run_trial):
    slow = {"seconds": "2 ms", "slow": [{"rank": 2, "factor": 100.0}]}
    strategy = SYNC | {"backup": 1} | ({"bucket": bucket} if bucket else {})
    outcome = run_trial(make_cell(strategy=strategy, steps=40, compute=slow, transport=transport))
    workers, server = outcome.reports[:3], outcome.reports[3]
    assert server.steps == 40
    dropped = [sum(row.dropped for row in outcome.rows if row.rank == rank) for rank in range(3)]
    assert dropped[2] > 0
    assert sum(dropped) == server.pushes_dropped
    assert sum(report.pushes for report in workers) == server.pushes + server.pushes_dropped
    shards = len(outcome.nodes[3]._shards)
    assert server.pushes == 40 * 2 * shards  # two of three in every version of every shard
    steps = [sum(row.rank == rank for row in outcome.rows) for rank in range(3)]
    assert steps[2] < 40 <= max(steps[:2])


def test_a_version_without_some_is_the_mean_of_the_others(run_trial):
    """Two workers, one counted: each version is a plain step with the gradient of one of them."""
    cell = make_cell(2, batch=9, strategy=SYNC | {"backup": 1}, steps=1)  # slices of 4 and 5
    outcome = run_trial(cell)
    counted = next(row.rank for row in outcome.rows if not row.dropped)
    learner = build_learner(cell, seed=0, repeat=0, rank=counted)
    learner.compute(0, reduce=None)
    learner.apply()
    assert distance(outcome.nodes[2].parameters[:-1], learner.parameters[:-1]) <= 1e-12
    assert float(outcome.nodes[2].parameters[-1]) == pytest.approx(learner.loss(), rel=1e-12)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("k", [0, 1, 4])
def test_staleness_on_purpose_is_delayed_sgd(k, transport, run_trial):
    """Update v is made from a gradient at the parameters of version max(0, v - k)."""
    cell = make_cell(1, batch=10, strategy=ASYNC | {"staleness": k}, transport=transport)
    outcome = run_trial(cell)
    learner = build_learner(cell, seed=0, repeat=0, rank=0)
    versions = [learner.parameters[:-1].clone()]
    for update in range(12):
        learner.parameters[:-1] = versions[max(0, update - k)]
        learner.compute(update, reduce=None)
        versions.append(versions[-1] - 0.1 * learner.gradients[:-1])
    assert distance(outcome.nodes[1].parameters[:-1], versions[-1]) <= 1e-12
    assert [row.staleness for row in outcome.rows] == [min(v, k) for v in range(12)]


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("k", [0, 1, 8])
@pytest.mark.parametrize("bucket", [None, "4 KiB"])
def test_all_updates_have_the_staleness_asked_for(workers, k, bucket, run_trial):
    strategy = ASYNC | {"staleness": k} | ({"bucket": bucket} if bucket else {})
    outcome = run_trial(make_cell(workers, strategy=strategy, steps=8))
    counted = sorted((row.version, row.staleness) for row in outcome.rows if not row.dropped)
    staleness = [s for _, s in counted]
    assert sorted(staleness) == sorted(min(v, k) for v in range(len(staleness)))
    assert len(staleness) >= 8 * workers
    assert sum(row.dropped > 0 for row in outcome.rows) <= workers


def test_a_drawn_staleness_is_the_same_in_every_run(run_trial):
    strategy = ASYNC | {"staleness": {"versions": [0, 2, 6], "weights": [1, 2, 1]}}
    cell = make_cell(2, strategy=strategy, steps=20)
    first, again = (
        [row.staleness for row in run_trial(cell).rows if not row.dropped][:40] for _ in range(2)
    )
    assert sorted(first) == sorted(again)
    assert {0, 2, 6} <= set(first)


@pytest.mark.parametrize("bucket", [None, "4 KiB"])
@pytest.mark.parametrize("k", [0, 8])
def test_each_point_is_evaluated_also_where_one_push_makes_several_versions(k, bucket, run_trial):
    """A push whose turn it is lets those go on that came before theirs."""
    strategy = ASYNC | {"staleness": k} | ({"bucket": bucket} if bucket else {})
    outcome = run_trial(make_cell(3, strategy=strategy, steps=20, eval_every=1))
    points = outcome.nodes[3].checkpoints
    assert [point.step for point in points] == list(range(1, 21))
    assert [point.samples for point in points] == [30 * step for step in range(1, 21)]


class Taken:
    """What the servers of a trial say of themselves when they have made a version."""

    def __init__(self, version):
        self.version = version
        self.states = []

    def watch(self, nodes):
        for node in nodes:
            if isinstance(node, Server):
                self.states.append([None] * len(node._shards))
                for index, shard in enumerate(node._shards):
                    self._watch(shard, self.states[-1], index)

    def _watch(self, shard, states, index):
        apply = shard.apply

        def applied(decision):
            workers = apply(decision)
            if decision.version == self.version:
                states[index] = shard.snapshot()
            return workers

        shard.apply = applied

    def restore(self, nodes):
        servers = [node for node in nodes if isinstance(node, Server)]
        for server, state in zip(servers, self.states, strict=True):
            server.restore(state)


@pytest.mark.parametrize(
    "optimizer",
    [{"kind": "sgd", "lr": 0.1, "momentum": 0.9}, {"kind": "adam", "lr": 0.01}],
    ids=["momentum", "adam"],
)
@pytest.mark.parametrize("fields", [{}, {"servers": 2}, {"bucket": "4 KiB"}])
def test_new_servers_go_on_bit_for_bit_from_what_the_old_ones_said(fields, optimizer, run_trial):
    cell = make_cell(2, steps=20, strategy=SYNC | fields, optimizer=optimizer)
    taken = Taken(8)
    whole = run_trial(cell, prepare=taken.watch)
    rest = run_trial(cell, prepare=taken.restore, first_step=8)
    losses = whole.losses()
    assert rest.losses() == {key: loss for key, loss in losses.items() if key[1] >= 8}
    for rank in range(2):
        assert torch.equal(rest.parameters(rank), whole.parameters(rank))


def test_a_restored_server_adapts_its_compensation_as_the_old_one_did(run_trial):
    rule = {"kind": "delay_compensated_adaptive", "strength": 0.2}
    cell = make_cell(2, steps=12, batch=20, strategy=ssp(0, reads="clock") | {"lr_rule": rule})
    taken = Taken(12)
    whole = run_trial(cell, prepare=taken.watch)
    rest = run_trial(cell, prepare=taken.restore, first_step=6)
    assert torch.equal(rest.parameters(0), whole.parameters(0))


def test_a_restored_server_knows_its_older_versions(run_trial):
    cell = make_cell(1, batch=10, steps=12, strategy=ASYNC | {"staleness": 3})
    taken = Taken(6)
    run_trial(cell, prepare=taken.watch)
    rest = run_trial(cell, prepare=taken.restore, first_step=6)
    # the worker begins with the parameters as they stand: its first push is not stale enough
    assert [row.dropped for row in rest.rows] == [1, 0, 0, 0, 0, 0, 0]
    assert [row.staleness for row in rest.rows] == [0, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    "rule",
    [ssp(0), ssp(1, reads="clock"), SYNC | {"backup": 1}, ASYNC | {"staleness": 2}],
    ids=["ssp:0", "ssp:1 clock", "backup 1", "staleness 2"],
)
def test_every_rule_over_several_servers(rule, transport, run_trial):
    cell = make_cell(3, strategy=rule | {"servers": 2, "bucket": "8 KiB"}, transport=transport)
    outcome = run_trial(cell)
    workers, servers = outcome.reports[:3], outcome.reports[3:]
    settled = sum(one.pushes + one.pushes_dropped + one.pushes_left for one in servers)
    assert sum(report.pushes for report in workers) == settled
    if "staleness" in rule:
        versions = [shard.core.version for node in outcome.nodes[3:] for shard in node._shards]
        assert min(versions) >= 12 * 3
        assert {row.staleness for row in outcome.rows if not row.dropped and row.version > 3} == {2}


class Applied:
    """What the last server's shards apply: the staleness of each push, by rank and seq."""

    def __init__(self):
        self.staleness = {}

    def watch(self, nodes):
        for shard in nodes[-1]._shards:
            self._watch(shard, shard.apply)

    def _watch(self, shard, apply):
        def watched(decision):
            for part in decision.contributions:
                self.staleness[part.worker, part.seq] = part.staleness
            return apply(decision)

        shard.apply = watched


@pytest.mark.parametrize("bound", [0, 2, "inf"])
def test_each_push_has_its_own_staleness_also_where_it_is_answered_before(bound, run_trial):
    slow = {"seconds": "1 ms", "slow": [{"rank": 0, "factor": 10.0}]}
    cell = make_cell(strategy=ssp(bound, reads="clock"), compute=slow, eval_every=4)
    applied = Applied()
    outcome = run_trial(cell, prepare=applied.watch)
    for row in outcome.rows:
        part = row.step < cell.steps
        assert row.staleness == (applied.staleness[row.rank, row.step] if part else -1)
    assert max(applied.staleness.values()) > 2 or bound == 0


@pytest.mark.parametrize("bound", [2, "inf"])
def test_what_workers_have_pushed_beyond_the_end_is_no_part_of_it(bound, run_trial):
    slow = {"seconds": "1 ms", "slow": [{"rank": 0, "factor": 20.0}]}
    cell = make_cell(strategy=ssp(bound, reads="clock"), compute=slow, eval_every=4, warmup=2)
    outcome = run_trial(cell)
    server = outcome.nodes[3]
    workers, report = outcome.reports[:3], outcome.reports[3]
    assert report.steps == 12
    assert report.samples == 10 * 30
    assert [point.step for point in server.checkpoints] == [4, 8, 12]
    assert report.pushes_dropped == 0 == sum(row.dropped for row in outcome.rows)
    assert sum(one.pushes for one in workers) <= report.pushes + report.pushes_left
    assert sum(one.pushes_sent for one in workers) == report.pushes + report.pushes_left
