"""Learning-rate rules and clipping on live servers, where what they get is known beforehand."""

import pytest
import torch

from psbench.spec import LR_RULES, Spec
from psbench.training import build_learner, build_task
from psbench.training.batches import GlobalBatches
from psbench.training.tasks import build_model

LR = 0.1
STRENGTH, ADAPTED, DECAY = 0.5, 0.2, 0.9
RULES = {name: {"kind": name} for name in LR_RULES}
RULES["delay_compensated"] |= {"strength": STRENGTH}
RULES["delay_compensated_adaptive"] |= {"strength": ADAPTED, "decay": DECAY}
TRANSPORTS = ["gloo", "shared_memory"]
IN_TURN = {"consistency": "asynchronous"}


def make_cell(workers=1, *, steps=10, batch=30, transport="gloo", optimizer=None, **fields):
    optimizer = optimizer or {"kind": "sgd", "lr": LR}
    (cell,) = Spec(
        name="rates",
        task={"model": "digits_mlp", "dtype": "float64", "optimizer": optimizer},
        batch={"global": batch},
        steps=steps,
        workers=workers,
        transport=transport,
        strategy={"kind": "parameter_server", **fields.pop("strategy")},
        **fields,
    ).cells()
    return cell


def clocks(bound):
    return {"consistency": "bounded_staleness", "bound": bound, "reads": "clock"}


def distance(parameters, expected):
    return float(torch.linalg.norm(parameters - expected) / torch.linalg.norm(expected))


class Replay:
    """What servers should make of gradients, in plain torch: update by update, one process."""

    def __init__(self, cell):
        self.rule = cell.strategy.lr_rule.kind
        self.workers = cell.workers
        self.ranks = [build_learner(cell, seed=0, repeat=0, rank=r) for r in range(cell.workers)]
        self.versions = [self.ranks[0].parameters[:-1].clone()]
        self.mean_square = torch.zeros_like(self.versions[0])

    def update(self, rank, step, pulled_version):
        """Apply the gradient of a rank's step at the parameters of a version."""
        learner, now = self.ranks[rank], self.versions[-1]
        pulled = self.versions[pulled_version]
        staleness = len(self.versions) - 1 - pulled_version
        learner.parameters[:-1] = pulled
        learner.compute(step, reduce=None)
        gradient, lr = learner.gradients[:-1].clone(), LR
        if self.rule == "inverse_workers":
            lr = LR / self.workers
        elif self.rule == "staleness_aware" and staleness:
            lr = LR / staleness
        elif self.rule == "delay_compensated":
            gradient += STRENGTH * gradient**2 * (now - pulled)
        elif self.rule == "delay_compensated_adaptive":
            self.mean_square = DECAY * self.mean_square + (1 - DECAY) * gradient**2
            strength = ADAPTED / torch.sqrt(self.mean_square + 1e-7)
            gradient += strength * gradient**2 * (now - pulled)
        self.versions.append(now - lr * gradient)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("parts", [{}, {"bucket": "4 KiB"}, {"servers": 2}], ids=str)
@pytest.mark.parametrize("rule", LR_RULES[2:])
def test_one_worker_whose_gradients_are_late(rule, parts, transport, run_trial):
    strategy = IN_TURN | {"staleness": 4, "lr_rule": RULES[rule]} | parts
    cell = make_cell(strategy=strategy, transport=transport)
    replay = Replay(cell)
    for update in range(10):
        replay.update(0, update, max(0, update - 4))
    servers = run_trial(cell).nodes[1:]
    got = torch.cat([server.parameters for server in servers])[:-1]
    assert distance(got, replay.versions[-1]) <= 1e-12
    plain = Replay(make_cell(strategy=IN_TURN))
    for update in range(10):
        plain.update(0, update, max(0, update - 4))
    assert distance(got, plain.versions[-1]) > 1e-6  # the rule does something


@pytest.mark.parametrize("rule", LR_RULES)
def test_workers_that_push_in_turn(rule, run_trial):
    """Two workers and a staleness of 1: update v is rank v % 2's, at version v - 1."""
    cell = make_cell(2, steps=6, strategy=IN_TURN | {"staleness": 1, "lr_rule": RULES[rule]})
    replay = Replay(cell)
    for update in range(12):
        replay.update(update % 2, update // 2, max(0, update - 1))
    (last,) = run_trial(cell).nodes[2].checkpoints  # of pushes that came later it has nothing
    assert distance(last.parameters[:-1], replay.versions[-1]) <= 1e-12


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("rule", LR_RULES)
def test_three_workers_a_clock_at_a_time(rule, transport, run_trial):
    """All pull the same version; what they push is 0, 1 and 2 versions old when it is applied."""
    strategy = clocks(0) | {"lr_rule": RULES[rule]}
    cell = make_cell(3, steps=6, strategy=strategy, transport=transport)
    replay = Replay(cell)
    for step in range(6):
        for rank in range(3):
            replay.update(rank, step, 3 * step)
    outcome = run_trial(cell)
    for rank in range(3):
        assert distance(outcome.parameters(rank), replay.versions[-1]) <= 1e-12


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_was_pulled_is_kept_while_several_pushes_of_a_worker_wait(transport, run_trial):
    """Rank 0 is up to two clocks ahead: which version it pulls is chance, and told by its rows."""
    slow = {"seconds": "2 ms", "slow": [{"rank": 1, "factor": 4.0}]}
    strategy = clocks(2) | {"lr_rule": RULES["delay_compensated"]}
    cell = make_cell(2, strategy=strategy, compute=slow, transport=transport)
    outcome = run_trial(cell)
    pulled = {(row.rank, row.step): row.pulled_version for row in outcome.rows}
    assert max(2 * step - version for (_, step), version in pulled.items()) == 4
    replay = Replay(cell)
    for step in range(10):
        for rank in range(2):
            replay.update(rank, step, pulled[rank, step])
    server = outcome.nodes[2]
    (last,) = server.checkpoints
    assert distance(last.parameters[:-1], replay.versions[-1]) <= 1e-12
    (shard,) = server._shards
    assert len(shard._outbox._copies) <= 2 * 3 + 1


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("rule", LR_RULES[3:])
def test_no_more_copies_than_workers_where_nobody_waits(rule, transport, run_trial):
    strategy = IN_TURN | {"lr_rule": RULES[rule]}
    outcome = run_trial(make_cell(3, steps=20, strategy=strategy, transport=transport))
    workers, server = outcome.reports[:3], outcome.reports[3]
    assert sum(report.pushes for report in workers) == server.pushes >= 60
    (shard,) = outcome.nodes[3]._shards
    assert len(shard._outbox._copies) <= 3
    assert all(torch.isfinite(outcome.parameters(rank)).all() for rank in range(3))


def clipped_run(cell, longest):
    """Plain PyTorch on the whole batch, clipped by torch's own function."""
    task = build_task(cell.task)
    model = build_model(task, torch.float64, seed=0, repeat=0)
    weights = list(model.parameters())
    options = cell.task.optimizer
    optimizer = torch.optim.SGD(weights, lr=options.lr, momentum=options.momentum)
    train = task.data()[0].to(torch.float64)
    batches = GlobalBatches(len(train), cell.global_batch, seed=0, repeat=0)
    norms = []
    for step in range(cell.steps):
        chosen = torch.from_numpy(batches.indices(step))
        optimizer.zero_grad()
        task.loss(model, train.inputs[chosen], train.targets[chosen]).backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(weights, longest)))
        optimizer.step()
    return torch.cat([weight.detach().reshape(-1) for weight in weights]), norms


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("consistency", "workers"), [("synchronous", 1), ("synchronous", 3), ("asynchronous", 1)]
)
def test_clipping_follows_the_single_process_run(consistency, workers, transport, run_trial):
    longest = 0.8
    cell = make_cell(
        workers,
        steps=30,
        batch=29,
        optimizer={"kind": "sgd", "lr": 0.1, "momentum": 0.9},
        strategy={"consistency": consistency, "clip_norm": longest},
        transport=transport,
    )
    expected, norms = clipped_run(cell, longest)
    assert min(norms) < longest < max(norms)  # some steps are clipped and some are not
    outcome = run_trial(cell)
    for rank in range(workers):
        assert distance(outcome.parameters(rank), expected) <= 1e-10
