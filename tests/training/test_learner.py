"""What a rank computes: its slice's gradient in place, shares that sum to the whole batch's."""

import itertools
import math

import pytest
import torch

from psbench.spec import MODELS, Cell
from psbench.training import (
    DTYPES,
    Learner,
    TorchStore,
    build_learner,
    build_task,
    vector_nbytes,
)
from psbench.training.batches import GlobalBatches
from psbench.training.tasks import build_model, evaluate

SEED = {"seed": 3, "repeat": 1}


def learners(cell) -> list[Learner]:
    return [build_learner(cell, **SEED, rank=rank) for rank in range(cell.workers)]


def plain(cell, samples):
    """Return loss and flat gradient at the initial parameters, by autograd on its own tensors."""
    task, dtype = build_task(cell.task), DTYPES[cell.task.dtype]
    model = build_model(task, dtype, **SEED)
    train = task.data()[0].to(dtype)
    scores, targets = model(train.inputs[samples]), train.targets[samples].long()
    classes = scores.shape[-1]
    loss = torch.nn.functional.cross_entropy(scores.reshape(-1, classes), targets.reshape(-1))
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return loss.detach(), torch.cat([gradient.reshape(-1) for gradient in gradients])


def samples(cell, step):
    num_samples = len(build_task(cell.task).data()[0])
    return GlobalBatches(num_samples, cell.global_batch, **SEED).indices(step)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_rank_computes_the_gradient_of_its_slice(make_cell, model, dtype):
    cell = make_cell(task={"model": model, "dtype": dtype}, workers=3)
    for learner, (start, stop) in zip(learners(cell), [(0, 5), (5, 11), (11, 17)], strict=True):
        loss, gradient = plain(cell, samples(cell, 4)[start:stop])
        share = (stop - start) / 17
        tolerance = 1e-6 if dtype == "float32" else 1e-14
        for reduce, factor, of_loss in ((None, 1, 1), ("mean", share, share), ("sum", 1, share)):
            assert learner.compute(4, reduce=reduce) == stop - start
            torch.testing.assert_close(
                learner.gradients[:-1], gradient * factor, rtol=tolerance, atol=tolerance
            )
            assert learner.gradients[-1].item() == pytest.approx(
                loss.item() * of_loss, rel=tolerance
            )


@pytest.mark.parametrize("reduce", [None, "mean", "sum"])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_micro_batches_add_up_to_the_slice(make_cell, parts, reduce):
    cell = make_cell(workers=3)
    for learner in learners(cell):
        samples_at_once = learner.compute(4, reduce=reduce)
        at_once = learner.gradients.clone()
        counts = [
            learner.compute(4, reduce=reduce, part=part, parts=parts) for part in range(parts)
        ]
        assert sum(counts) == samples_at_once
        assert max(counts) - min(counts) <= 1
        torch.testing.assert_close(learner.gradients, at_once, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_shares_sum_to_the_gradient_and_loss_of_the_whole_batch(make_cell, model, world):
    cell = make_cell(task={"model": model}, workers=world)
    loss, gradient = plain(cell, samples(cell, 2))
    ranks = learners(cell)
    assert sum(learner.compute(2, reduce="mean") for learner in ranks) == 17
    total = sum(learner.gradients for learner in ranks)
    torch.testing.assert_close(total[:-1], gradient, rtol=1e-12, atol=1e-14)
    assert total[-1].item() == pytest.approx(loss.item(), rel=1e-12)


def test_gradients_stay_in_the_memory_they_were_given(make_cell):
    given = []

    def allocate(numel, *, dtype):
        given.append(torch.zeros(numel, dtype=dtype))
        return given[0]

    learner = build_learner(make_cell(), **SEED, rank=0, allocate=allocate)
    assert learner.gradients is given[0]
    learner.compute(0, reduce="mean")
    first = learner.gradients.clone()
    learner.compute(0, reduce="mean")  # overwritten, not added to
    assert torch.equal(given[0], first)
    assert first.abs().sum() > 0
    assert len(given) == 1


def test_initial_parameters_are_the_models_whatever_the_rank_world_and_strategy(
    make_cell, make_task
):
    model = build_model(make_task("digits_mlp"), torch.float64, **SEED)
    expected = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    for fields in ({}, {"workers": 4}, {"workers": 2, "strategy": "ps-async"}, {"steps": 9}):
        for learner in learners(make_cell(**fields)):
            assert learner.parameters.shape == learner.gradients.shape == (9_611,)
            assert torch.equal(learner.parameters[:-1], expected)


def test_applying_steps_the_parameters_and_carries_the_loss(make_cell):
    learner = learners(make_cell())[0]
    before = learner.parameters.clone()
    learner.compute(0, reduce="mean")
    learner.apply()
    expected = before[:-1] - 0.1 * learner.gradients[:-1]
    torch.testing.assert_close(learner.parameters[:-1], expected, rtol=1e-14, atol=1e-16)
    assert learner.loss() == learner.gradients[-1].item() == learner.parameters[-1].item()
    assert 2.0 < learner.loss() < 3.0  # of ten classes guessed at, ln 10
    # and the next gradient is that at the new parameters
    loss = learner.loss()
    learner.compute(0, reduce="mean")
    assert learner.gradients[-1].item() < loss


def test_evaluation_leaves_the_parameters_as_they_were(make_cell, make_task):
    learner = learners(make_cell())[0]
    before, pointer = learner.parameters.clone(), learner.parameters.data_ptr()
    other = build_learner(make_cell(), seed=8, repeat=0, rank=0)
    result = learner.evaluate(other.parameters.clone())
    assert torch.equal(learner.parameters, before)
    assert learner.parameters.data_ptr() == pointer
    task = make_task("digits_mlp")
    model = build_model(task, torch.float64, seed=8, repeat=0)
    assert result == evaluate(task, model, task.data()[1].to(torch.float64))
    assert learner.evaluate(learner.parameters) != result
    learner.compute(0, reduce="mean")
    assert torch.equal(learner.gradients[:-1], plain(make_cell(), samples(make_cell(), 0))[1])


@pytest.mark.parametrize(
    "optimizer", [{"kind": "sgd", "lr": 0.1, "momentum": 0.9}, {"kind": "adam", "lr": 0.01}]
)
def test_stores_of_shards_step_as_the_learner_does(make_cell, optimizer):
    learner = learners(make_cell(task={"optimizer": optimizer}))[0]
    numel = len(learner.parameters)
    cuts = [0, 0, 5, 4_000, numel - 1, numel, numel]  # a shard of the loss alone, and empty ones
    spans = list(itertools.pairwise(cuts))
    stores: list[TorchStore] = [learner.store(start, stop) for start, stop in spans]
    assert torch.equal(torch.cat([store.read() for store in stores]), learner.parameters)
    for step in range(3):
        learner.compute(step, reduce="mean")
        for (start, stop), store in zip(spans, stores, strict=True):
            store.apply([learner.gradients[start:stop].clone()])
        learner.apply()
        assert torch.equal(torch.cat([store.read() for store in stores]), learner.parameters)


def test_a_store_does_not_share_the_learners_memory(make_cell):
    learner = learners(make_cell())[0]
    before = learner.parameters.clone()
    learner.store(0, 100).apply([torch.ones(100, dtype=torch.float64)])
    assert torch.equal(learner.parameters, before)


@pytest.mark.parametrize(("dtype", "numel"), [("float32", 1024), ("float64", 512)])
def test_a_payload_is_bytes_and_nothing_else(make_cell, dtype, numel):
    task = {"payload": "4 KiB", "dtype": dtype}
    cell = Cell(task=task, workers=2, steps=5, strategy="ring")
    learner = build_learner(cell, **SEED, rank=1)
    assert learner.parameters.shape == learner.gradients.shape == (numel,)
    assert learner.parameters.dtype == learner.gradients.dtype == DTYPES[dtype]
    learner.gradients.fill_(5.0)  # as after a sum
    assert learner.compute(0, reduce="mean") == 0
    assert torch.equal(learner.gradients, torch.ones(numel, dtype=DTYPES[dtype]))
    learner.apply()
    assert torch.equal(learner.parameters, torch.zeros(numel, dtype=DTYPES[dtype]))
    assert math.isnan(learner.loss())
    loss, accuracy = learner.evaluate(learner.parameters)
    assert math.isnan(loss)
    assert accuracy is None
    assert learner.digest == ""


def test_a_payload_at_a_server_is_summed():
    cell = Cell(task={"payload": "40 B"}, workers=2, steps=5, strategy="ps-sync")
    store = build_learner(cell, **SEED, rank=0).store(4, 10)
    store.apply([torch.full((6,), 1.0), torch.full((6,), 2.0)])
    assert store.read().tolist() == [3.0] * 6


def test_a_payload_of_nothing():
    cell = Cell(task={"payload": "0 B"}, workers=2, steps=5, strategy="ring")
    learner = build_learner(cell, **SEED, rank=0)
    assert learner.compute(0, reduce="mean") == 0
    assert learner.parameters.shape == learner.gradients.shape == (0,)


@pytest.mark.parametrize(("dtype", "nbytes"), [("float32", 102_228_128), ("float64", 204_456_256)])
def test_a_profile_is_gradients_of_its_size_and_samples_that_are_counted(dtype, nbytes):
    cell = Cell(
        task={"profile": "resnet50", "dtype": dtype},
        batch={"global": 17},
        compute={"seconds": "200 ms"},
        workers=3,
        steps=5,
        strategy="ring",
        accumulate=2,
    )
    assert vector_nbytes(cell) == nbytes
    parts = {}
    for rank in (0, 1):
        learner = build_learner(cell, **SEED, rank=rank)
        assert learner.gradients.nbytes == learner.parameters.nbytes == nbytes
        assert learner.carried == 0
        assert learner.digest == ""
        assert math.isnan(learner.loss())
        parts[rank] = [learner.compute(0, reduce="mean", part=i, parts=2) for i in range(2)]
    assert parts == {0: [2, 3], 1: [3, 3]}


def test_a_profile_knows_its_gradients_layer_by_layer():
    cell = Cell(
        task={"profile": "alexnet"},
        batch={"per_worker": 1},
        compute={"seconds": "200 ms"},
        workers=1,
        steps=1,
        strategy="ring",
    )
    told = []
    build_learner(cell, **SEED, rank=0).compute(0, reduce="mean", progress=told.append)
    maps = [9216 * 4096 + 4096, 4096 * 4096 + 4096, 4096 * 1000 + 1000]
    kernels = [(3, 64, 11), (64, 192, 5), (192, 384, 3), (384, 256, 3), (256, 256, 3)]
    sizes = [inputs * outputs * size**2 + outputs for inputs, outputs, size in kernels] + maps
    assert told == list(itertools.accumulate(sizes, initial=0))[-2::-1]
