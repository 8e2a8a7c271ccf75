"""Several servers, each with a part of the vector: the same bits, one end, and no push lost."""

import pytest
import torch

from psbench.live.job import DIVERGED, OK
from psbench.live.server import Server
from psbench.spec import Spec
from psbench.training import reference

DIGITS = {"model": "digits_mlp", "dtype": "float64"}
SGD = {"kind": "sgd", "lr": 0.1, "momentum": 0.9}
ADAM = {"kind": "adam", "lr": 0.003}


def make_cell(
    servers, workers, *, consistency="synchronous", task=None, steps=30, options=None, **fields
):
    strategy = {"kind": "parameter_server", "consistency": consistency, "servers": servers}
    (cell,) = Spec(
        name="servers",
        task=task or DIGITS | {"optimizer": SGD},
        steps=steps,
        workers=workers,
        strategy=strategy | (options or {}),
        **({} if task and "payload" in task else {"batch": {"global": 32}}),
        **fields,
    ).cells()
    return cell


def of_servers(outcome):
    return [node for node in outcome.nodes if isinstance(node, Server)]


def whole(servers, step):
    """The parameters that are evaluated as those of a step, put together of the servers' parts."""
    return torch.cat([server.part(step) for server in servers])


@pytest.mark.parametrize(
    ("transport", "apart"), [("gloo", False), ("shared_memory", False), ("auto", True)]
)
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("servers", [2, 3, 7])
def test_float64_equals_the_single_process_run(servers, workers, transport, apart, run_trial):
    cell = make_cell(servers, workers, transport=transport)
    outcome = run_trial(cell, apart=apart)
    steps = list(reference(cell, seed=0, repeat=0))
    for rank in range(workers):
        difference = torch.linalg.norm(outcome.parameters(rank) - steps[-1].parameters)
        assert difference <= 1e-10 * torch.linalg.norm(steps[-1].parameters)
        assert torch.equal(outcome.parameters(rank), outcome.parameters(0))
    for (_, step), loss in outcome.losses().items():
        assert loss == pytest.approx(steps[step].loss, rel=1e-10)
    assert torch.equal(whole(of_servers(outcome), 30)[:-1], outcome.parameters(0))


@pytest.mark.parametrize(
    "options",
    [
        {"placement": "colocated"},
        {"bucket": "20 KiB"},
        {"bucket": "20 KiB", "overlap": True},
        {"bucket": "20 KiB", "overlap": True, "placement": "colocated"},
    ],
    ids=lambda options: "-".join(options),
)
@pytest.mark.parametrize("servers", [2, 3])
def test_neither_servers_nor_where_they_sit_nor_shards_change_a_bit(servers, options, run_trial):
    fields = {"task": DIGITS | {"optimizer": ADAM}, "steps": 8, "eval_every": 3, "warmup": 2}
    one = run_trial(make_cell(1, 3, **fields))
    outcome = run_trial(make_cell(servers, 3, options=options, **fields))
    assert outcome.losses() == one.losses()
    for rank in range(3):
        assert torch.equal(outcome.parameters(rank), one.parameters(0))
    assert {row.version_spread for row in outcome.rows} == {0}
    assert outcome.reports[-1].samples == 6 * 32  # the warm-up left out
    keeper, expected = outcome.nodes[-1].checkpoints, one.nodes[-1].checkpoints
    assert [p.step for p in keeper] == [p.step for p in expected] == [3, 6, 8]
    assert [p.samples for p in keeper] == [p.samples for p in expected] == [96, 192, 256]
    seconds = [point.seconds for point in keeper]
    assert 0 < seconds[0] < seconds[1] < seconds[2] <= outcome.reports[-1].seconds
    for point in expected:
        assert torch.equal(whole(of_servers(outcome), point.step), point.parameters)


TINY = """
import torch
from psbench import Data, Task

def build():
    inputs = torch.rand(64, 1, generator=torch.Generator().manual_seed(5))
    samples = Data(inputs=inputs, targets=3 * inputs + 1)
    return Task(
        model=lambda: torch.nn.Linear(1, 1),
        loss=lambda model, inputs, targets: ((model(inputs) - targets) ** 2).mean(),
        data=lambda: (samples[:48], samples[48:]),
    )
"""


@pytest.mark.parametrize("consistency", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("optimizer", [SGD, ADAM], ids=["sgd", "adam"])
def test_more_servers_than_parameters(optimizer, consistency, run_trial, tmp_path, monkeypatch):
    """Two parameters and the loss on five servers: two have nothing, one the loss alone."""
    (tmp_path / "tiny_line.py").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    task = {"model": "tiny_line:build", "dtype": "float64", "optimizer": optimizer}
    cell = make_cell(5, 1, task=task, consistency=consistency, steps=10)
    outcome = run_trial(cell)
    servers = of_servers(outcome)
    assert [len(server.parameters) for server in servers] == [0, 1, 0, 1, 1]
    expected = list(reference(cell, seed=0, repeat=0))[-1].parameters
    assert torch.allclose(outcome.parameters(0), expected, rtol=1e-10, atol=0)
    assert torch.equal(whole(servers, 10)[:-1], outcome.parameters(0))
    assert [report.pushes for report in outcome.reports] == [50, *[10] * 5]


@pytest.mark.parametrize("consistency", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("payload", ["0 B", "4 B", "12 B"])
def test_tiny_payloads(payload, consistency, run_trial):
    task = {"payload": payload}
    outcome = run_trial(make_cell(3, 2, task=task, consistency=consistency, steps=4))
    assert {report.status for report in outcome.reports} == {OK}
    if consistency == "synchronous":
        for node in outcome.nodes[:2]:
            assert node.learner.parameters.tolist() == [2.0] * node.learner.parameters.numel()


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize("options", [{}, {"bucket": "20 KiB", "overlap": True}], ids=["one", "cut"])
@pytest.mark.parametrize("servers", [2, 3])
def test_each_asynchronous_server_applies_every_push_once(servers, options, transport, run_trial):
    workers, steps = 3, 30
    cell = make_cell(
        servers,
        workers,
        consistency="asynchronous",
        steps=steps,
        options=options,
        eval_every=10,
        task=DIGITS | {"optimizer": {"kind": "sgd", "lr": 0.01}},
        transport=transport,
    )
    outcome = run_trial(cell)
    ranks, own = outcome.reports[:workers], outcome.reports[workers:]
    done = sum(report.steps for report in ranks)
    # the trial ends at steps x p; what was under way then is still applied
    assert steps * workers <= done <= steps * workers + workers - 1
    shards = sum(len(server._shards) for server in of_servers(outcome))
    assert sum(report.pushes_sent for report in ranks) == shards * done
    assert sum(report.pushes for report in ranks) == shards * done
    for server, report in zip(of_servers(outcome), own, strict=True):
        assert report.pushes == len(server._shards) * done
        assert [shard.core.version for shard in server._shards] == [done] * len(server._shards)
        assert [point.step for point in server.checkpoints] == [10, 20, 30]
    assert own[-1].status == OK
    for row in outcome.rows:
        assert 0 <= row.version_spread <= done
    assert len(outcome.rows) == done


def test_alone_a_worker_sees_all_servers_at_one_version(run_trial):
    outcome = run_trial(make_cell(3, 1, consistency="asynchronous", steps=5))
    assert [row.version_spread for row in outcome.rows] == [0] * 5
    assert [row.version for row in outcome.rows] == [1, 2, 3, 4, 5]
    assert [row.staleness for row in outcome.rows] == [0] * 5


@pytest.mark.parametrize("options", [{}, {"bucket": "20 KiB"}], ids=["one", "cut"])
def test_a_diverging_trial_ends_on_all_ranks_at_one_step(options, run_trial):
    task = DIGITS | {"optimizer": {"kind": "sgd", "lr": 1000.0}}
    outcome = run_trial(make_cell(2, 3, task=task, options=options, steps=200))
    assert {report.status for report in (*outcome.reports[:3], outcome.reports[-1])} == {DIVERGED}
    (steps,) = {report.steps for report in outcome.reports}
    assert steps < 200
    assert outcome.nodes[-1].checkpoints == []


def test_a_diverging_asynchronous_trial_ends(run_trial):
    task = DIGITS | {"optimizer": {"kind": "sgd", "lr": 1000.0}}
    cell = make_cell(2, 3, task=task, consistency="asynchronous", steps=200)
    outcome = run_trial(cell)
    *ranks, first, last = outcome.reports
    assert {report.status for report in (*ranks, last)} == {DIVERGED}
    assert first.pushes == last.pushes == sum(report.steps for report in ranks) < 600


def test_a_part_of_a_step_that_was_never_made_is_the_last_there_is(run_trial):
    server = of_servers(run_trial(make_cell(2, 1, steps=4, eval_every=2)))[0]
    assert torch.equal(server.part(2), server.checkpoints[0].parameters)
    assert not torch.equal(server.part(2), server.parameters)
    assert torch.equal(server.part(3), server.parameters)


@pytest.mark.parametrize("servers", [1, 2, 3, 5])
def test_bytes_of_each_node(servers, run_trial):
    """The busiest node sends max(1, p/s) n a step."""
    workers, steps, numel = 3, 6, 60
    task = {"payload": f"{4 * numel} B"}
    outcome = run_trial(make_cell(servers, workers, task=task, steps=steps))
    moved = [steps * 4 * numel] * workers + [workers * steps * 4 * numel // servers] * servers
    assert [report.counters.bytes_sent for report in outcome.reports] == moved
    assert [report.counters.bytes_received for report in outcome.reports] == moved
    assert max(moved) == steps * 4 * numel * max(1, workers / servers)
    for row in outcome.rows:
        assert row.bytes_sent == row.bytes_received == 4 * numel
        assert row.messages_sent == servers


@pytest.mark.parametrize("consistency", ["synchronous", "asynchronous"])
def test_ten_thousand_pushes(consistency, run_trial):
    cell = make_cell(2, 8, task={"payload": "64 B"}, consistency=consistency, steps=625)
    outcome = run_trial(cell)
    ranks, servers = outcome.reports[:8], outcome.reports[8:]
    sent = sum(report.pushes_sent for report in ranks)
    assert sent == sum(report.pushes for report in ranks) == sum(s.pushes for s in servers)
    assert servers[0].pushes == servers[1].pushes
    under_way = 0 if consistency == "synchronous" else 2 * 7
    assert 10_000 <= sent <= 10_000 + under_way
