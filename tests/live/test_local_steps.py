"""Local SGD, DiLoCo and EASGD against plain loops over as many models, in float64."""

import numpy as np
import pytest
import torch

from psbench.spec import Spec
from psbench.training import build_task, reference
from psbench.training.batches import GlobalBatches, rank_slice
from psbench.training.tasks import build_model

PLAIN = {"kind": "sgd", "lr": 0.1}
MOMENTUM = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}
ADAM = {"kind": "adam", "lr": 0.01}
MEAN = {"lr": 1.0, "momentum": 0.0, "nesterov": False}  # what makes diloco local SGD


def make_cell(strategy, *, workers, optimizer=PLAIN, steps=12, batch=32, **fields):
    """A small model; 32 samples do not divide by 3 or 5."""
    spec = Spec(
        name="local",
        task={"model": "digits_mlp", "dtype": "float64", "optimizer": optimizer},
        batch={"global": batch},
        steps=steps,
        strategy=strategy,
        workers=workers,
        **fields,
    )
    return spec.cells()[0]


def distance(parameters, expected):
    """||a - b|| / ||b||"""
    return float(torch.linalg.norm(parameters - expected) / torch.linalg.norm(expected))


class Plain:
    """One rank in plain PyTorch: a model of its own, and an optimiser of torch's."""

    def __init__(self, cell, rank):
        task, options = build_task(cell.task), cell.optimizer.model_dump(exclude={"kind"})
        self.model = build_model(task, torch.float64, seed=0, repeat=0)
        kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[cell.optimizer.kind]
        self.optimizer = kind(self.model.parameters(), **options)
        self.loss = task.loss
        self.train = task.data()[0].to(torch.float64)
        self.batches = GlobalBatches(len(self.train), cell.global_batch, seed=0, repeat=0)
        self.slice = rank_slice(cell.global_batch, cell.workers, rank)
        self.share = (self.slice.stop - self.slice.start) / cell.global_batch

    def step(self, number):
        own = torch.from_numpy(self.batches.indices(number)[self.slice])
        self.optimizer.zero_grad()
        loss = self.loss(self.model, self.train.inputs[own], self.train.targets[own])
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @property
    def flat(self):
        return torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])

    def put(self, flat):
        torch.nn.utils.vector_to_parameters(flat.clone(), self.model.parameters())


def rounds(cell, every):
    """Train the ranks of a cell apart; yield them whenever they are to agree."""
    ranks = [Plain(cell, rank) for rank in range(cell.workers)]
    for number in range(cell.steps):
        losses = [rank.step(number) for rank in ranks]
        if (number + 1) % every == 0 or number + 1 == cell.steps:
            yield ranks, sum(r.share * loss for r, loss in zip(ranks, losses, strict=True))


def mean_of(ranks):
    return sum(rank.share * rank.flat for rank in ranks)


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("strategy", [{"kind": "local_sgd"}, {"kind": "diloco", **MEAN}])
def test_every_step_by_plain_sgd_it_is_synchronous(strategy, workers, run_trial):
    cell = make_cell({**strategy, "every": 1}, workers=workers, steps=30)
    outcome = run_trial(cell)
    expected = list(reference(cell, seed=0, repeat=0))
    for rank in range(workers):
        assert distance(outcome.parameters(rank), expected[-1].parameters) <= 1e-10
        assert torch.equal(outcome.parameters(rank), outcome.parameters(0))
    for (_, step), loss in outcome.losses().items():
        assert loss == pytest.approx(expected[step].loss, rel=1e-10)


@pytest.mark.parametrize("optimizer", [PLAIN, MOMENTUM, ADAM])
@pytest.mark.parametrize(
    ("workers", "over", "transport"),
    [
        (3, "ring", "gloo"),
        (3, "native", "gloo"),
        (3, {"kind": "all_reduce", "algorithm": "tree", "bucket": "4 KiB"}, "shared_memory"),
    ],
)
def test_local_sgd_takes_the_mean_by_share(optimizer, workers, over, transport, run_trial):
    strategy = {"kind": "local_sgd", "every": 4, "over": over}
    cell = make_cell(strategy, workers=workers, optimizer=optimizer, steps=10, transport=transport)
    outcome = run_trial(cell)
    losses = []
    for ranks, loss in rounds(cell, 4):  # after 4, 8 and 10 steps
        losses.append(loss)
        mean = mean_of(ranks)
        for rank in ranks:
            rank.put(mean)
    for rank in range(workers):
        assert distance(outcome.parameters(rank), mean) <= 1e-10
        agreed = [outcome.losses()[rank, step] for step in (3, 7, 9)]
        assert agreed == pytest.approx(losses, rel=1e-10)


@pytest.mark.parametrize("optimizer", [MOMENTUM, ADAM])
@pytest.mark.parametrize(
    ("changes", "outer"),
    [
        ({}, {"lr": 0.7, "momentum": 0.9, "nesterov": True}),
        ({"lr": 0.5, "nesterov": False}, {"lr": 0.5, "momentum": 0.9}),
    ],
)
def test_diloco_steps_from_where_all_met_last(optimizer, changes, outer, run_trial):
    strategy = {"kind": "diloco", "every": 4, **changes}
    cell = make_cell(strategy, workers=3, optimizer=optimizer, steps=18)
    outcome = run_trial(cell)
    met = torch.nn.Parameter(Plain(cell, 0).flat.clone())
    optimizer = torch.optim.SGD([met], **outer)
    for ranks, _ in rounds(cell, 4):
        met.grad = met.detach() - mean_of(ranks)
        optimizer.step()
        for rank in ranks:
            rank.put(met.detach())
    for rank in range(3):
        assert distance(outcome.parameters(rank), met.detach()) <= 1e-10


@pytest.mark.parametrize(("workers", "alpha"), [(1, None), (4, None), (4, 0.3)])
def test_elastic_averaging_draws_both_ways(workers, alpha, run_trial):
    strategy = {"kind": "easgd", "every": 3, "alpha": alpha}
    cell = make_cell(strategy, workers=workers, optimizer=MOMENTUM, eval_every=6)
    outcome = run_trial(cell)
    rate = alpha or 0.9 / workers
    centre, kept = Plain(cell, 0).flat, {}
    for number, (ranks, _) in enumerate(rounds(cell, 3), start=1):
        apart = [rank.flat - centre for rank in ranks]
        for rank, own in zip(ranks, apart, strict=True):
            rank.put(rank.flat - rate * own)
        centre = centre + rate * sum(apart)
        kept[3 * number] = centre
    for rank, plain in enumerate(ranks):
        assert distance(outcome.parameters(rank), plain.flat) <= 1e-10
    checkpoints = outcome.nodes[0].checkpoints
    assert [point.step for point in checkpoints] == [6, 12]
    for point in checkpoints:
        assert distance(point.parameters[:-1], kept[point.step]) <= 1e-10


def test_ranks_train_by_themselves_in_between(run_trial):
    losses = run_trial(make_cell("local_sgd:3", workers=2, steps=7)).losses()
    ranks = [Plain(make_cell("local_sgd:3", workers=2), rank) for rank in range(2)]
    for rank, plain in enumerate(ranks):
        assert losses[rank, 0] == pytest.approx(plain.step(0), rel=1e-12)
        assert losses[rank, 1] == pytest.approx(plain.step(1), rel=1e-12)
    agreed = [step for step in range(7) if losses[0, step] == losses[1, step]]
    assert agreed == [2, 5, 6]


@pytest.mark.parametrize("strategy", ["local_sgd:4", "diloco:4", "easgd:4"])
def test_bytes_are_those_of_a_ring_every_so_often(strategy, run_trial):
    ring = run_trial(make_cell("ring", workers=3)).reports
    own = run_trial(make_cell(strategy, workers=3)).reports
    for rank in range(3):
        assert own[rank].counters.bytes_sent * 4 == ring[rank].counters.bytes_sent
        assert own[rank].counters.messages_sent * 4 == ring[rank].counters.messages_sent


@pytest.mark.parametrize("strategy", ["local_sgd:4", "diloco:4", "easgd:4"])
def test_all_ranks_end_with_the_step_that_shows_divergence(strategy, run_trial):
    optimizer = {"kind": "sgd", "lr": 1e9}
    outcome = run_trial(make_cell(strategy, workers=3, optimizer=optimizer, steps=40, warmup=30))
    ends = [(report.status, report.steps) for report in outcome.reports]
    assert ends == [("diverged", 4)] * 3
    assert not outcome.nodes[0].checkpoints


@pytest.mark.parametrize("over", ["ps-sync", "ps-async"])
def test_servers_end_a_trial_that_diverges(over, run_trial):
    optimizer = {"kind": "sgd", "lr": 1e9}
    strategy = {"kind": "easgd", "every": 4, "over": over}
    outcome = run_trial(make_cell(strategy, workers=3, optimizer=optimizer, steps=40, warmup=20))
    assert [report.status for report in outcome.reports] == ["diverged"] * 4
    assert all(report.steps in (4, 8) for report in outcome.reports[:3])
    assert not outcome.nodes[3].checkpoints


def test_one_rank_that_runs_away_ends_all(run_trial):
    def break_one(nodes):
        compute = nodes[1].learner.compute

        def broken(step, **options):
            samples = compute(step, **options)
            nodes[1].learner.gradients[-1] *= 100 if step >= 4 else 1  # its loss alone
            return samples

        nodes[1].learner.compute = broken

    outcome = run_trial(make_cell("local_sgd:3", workers=3, steps=30), prepare=break_one)
    ends = [(report.status, report.steps) for report in outcome.reports]
    assert ends == [("diverged", 6)] * 3


def test_evaluated_is_what_ranks_agreed_on(run_trial):
    cell = make_cell("local_sgd:3", workers=2, steps=8, eval_every=6)
    checkpoints = run_trial(cell).nodes[0].checkpoints
    assert [point.step for point in checkpoints] == [6, 8]
    means = []
    for ranks, _ in rounds(cell, 3):
        means.append(mean_of(ranks))
        for rank in ranks:
            rank.put(means[-1])
    assert distance(checkpoints[0].parameters[:-1], means[1]) <= 1e-10
    assert distance(checkpoints[1].parameters[:-1], means[2]) <= 1e-10
    assert np.isfinite(checkpoints[1].seconds)


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize(
    "strategy",
    [
        {"kind": "local_sgd"},
        {"kind": "diloco"},
        {"kind": "easgd", "alpha": 0.2},
    ],
)
def test_servers_agree_with_an_all_reduce(strategy, transport, run_trial):
    strategy = {**strategy, "every": 3}
    common = {"workers": 3, "optimizer": ADAM, "steps": 12, "batch": 33, "eval_every": 6}
    server = {
        "kind": "parameter_server",
        "consistency": "synchronous",
        "bucket": "8 KiB",
        "servers": 2,
    }
    ring = run_trial(make_cell(strategy, **common))
    served = run_trial(make_cell({**strategy, "over": server}, transport=transport, **common))
    for rank in range(3):
        assert distance(served.parameters(rank), ring.parameters(rank)) <= 1e-10
    parts = [server.checkpoints for server in served.nodes[3:]]
    kept = ring.nodes[0].checkpoints
    assert [(p.step, p.samples) for p in parts[-1]] == [(p.step, p.samples) for p in kept]
    for *apart, whole in zip(*parts, kept, strict=True):
        own = torch.cat([part.parameters for part in apart])
        assert distance(own[:-1], whole.parameters[:-1]) <= 1e-10
    assert served.losses() == pytest.approx(ring.losses(), rel=1e-9)
    assert [report.steps for report in served.reports] == [12] * 5
    for server, report in zip(served.nodes[3:], served.reports[3:], strict=True):
        assert len(server._shards) > 1
        assert report.pushes == 4 * 3 * len(server._shards)


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
def test_elastic_averaging_with_one_worker_in_turn(transport, run_trial):
    strategy = {"kind": "easgd", "every": 3, "alpha": 0.4, "over": "ps-async"}
    cell = make_cell(
        strategy, workers=1, optimizer=MOMENTUM, eval_every=6, warmup=3, transport=transport
    )
    outcome = run_trial(cell)
    centre, kept = Plain(cell, 0).flat, []
    for (rank,), _ in rounds(cell, 3):
        apart = rank.flat - centre
        rank.put(rank.flat - 0.4 * apart)
        centre = centre + 0.4 * apart
        kept.append(centre)
    assert distance(outcome.parameters(0), rank.flat) <= 1e-10
    checkpoints = outcome.nodes[1].checkpoints
    assert [(point.step, point.samples) for point in checkpoints] == [(6, 192), (12, 384)]
    for point, expected in zip(checkpoints, kept[1::2], strict=True):
        assert distance(point.parameters[:-1], expected) <= 1e-10
    assert [report.steps for report in outcome.reports] == [12, 12]
    assert [report.samples for report in outcome.reports] == [288, 288]


def test_elastic_averaging_moves_a_rank_by_what_the_centre_moves_back(run_trial):
    """Nobody learns: the sum over ranks and centre stays as it was, whoever came when."""
    workers, strategy = 4, {"kind": "easgd", "every": 2, "alpha": 0.3, "over": "ps-async"}
    cell = make_cell(strategy, workers=workers, steps=20)

    def stand_still(nodes):
        for rank, node in enumerate(nodes[:workers]):
            learner = node.learner
            learner.apply = lambda learner=learner: None
            start = node._strategy.start

            def scattered(start=start, learner=learner, rank=rank):
                yield from start()
                learner.parameters[:-1] += float(10**rank)

            object.__setattr__(node._strategy, "start", scattered)

    outcome = run_trial(cell, prepare=stand_still)
    initial = Plain(cell, 0).flat
    ranks = [outcome.parameters(rank) for rank in range(workers)]
    centre = outcome.nodes[workers].parameters[:-1]
    total = sum(ranks) + centre
    expected = (workers + 1) * initial + 1111.0
    assert distance(total, expected) <= 1e-10
    assert outcome.reports[workers].pushes >= 40
    # all are drawn together: far apart at first, they end within the first distance
    spread = max(float((rank - centre).abs().max()) for rank in ranks)
    assert 0 < spread < 500
