"""A server that keeps the vector in several shards, each with a version of its own."""

import pytest
import torch

from psbench.errors import SpecError
from psbench.live.letters import MOST_LETTERS
from psbench.live.machine import control
from psbench.live.shard import check_shards
from psbench.spec import Spec
from psbench.training import reference

OPTIMIZER = {"kind": "adam", "lr": 0.003}


def make_cell(consistency, workers, *, steps=8, task=None, **options):
    model = {"model": "digits_cnn", "dtype": "float64", "optimizer": OPTIMIZER}
    fields = options.pop("fields", {})
    (cell,) = Spec(
        name="shards",
        task=task or model,
        **({} if task else {"batch": {"global": 30}, "eval_every": 4}),
        steps=steps,
        workers=workers,
        strategy={"kind": "parameter_server", "consistency": consistency, **options},
        **fields,
    ).cells()
    return cell


def cut(consistency, workers, **options):
    return make_cell(consistency, workers, bucket="80 KiB", **options)


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("overlap", [False, True])
def test_shards_change_no_bit_of_a_synchronous_trial(overlap, workers, transport, run_trial):
    fields = {"transport": transport, "warmup": 2}
    whole = run_trial(make_cell("synchronous", workers, fields=fields))
    outcome = run_trial(cut("synchronous", workers, overlap=overlap, fields=fields))
    for rank in range(workers):
        assert torch.equal(outcome.parameters(rank), whole.parameters(0))
    assert torch.equal(outcome.nodes[-1].parameters, whole.nodes[-1].parameters)
    assert outcome.losses() == whole.losses()
    points, expected = outcome.nodes[-1].checkpoints, whole.nodes[-1].checkpoints
    assert [p.step for p in points] == [p.step for p in expected] == [4, 8]
    for point, other in zip(points, expected, strict=True):
        assert torch.equal(point.parameters, other.parameters)
        assert point.samples == other.samples
    steps = list(reference(make_cell("synchronous", 1), seed=0, repeat=0))
    distance = outcome.parameters(0) - steps[-1].parameters
    assert torch.linalg.norm(distance) <= 1e-9 * torch.linalg.norm(steps[-1].parameters)


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize("overlap", [False, True])
def test_each_push_of_each_shard_is_applied_once(overlap, transport, run_trial):
    fields = {"transport": transport}
    outcome = run_trial(cut("asynchronous", 3, steps=20, overlap=overlap, fields=fields))
    server, workers = outcome.reports[-1], outcome.reports[:-1]
    assert {len(row.enters) for row in outcome.rows} == {4}
    assert sum(w.pushes_sent for w in workers) == sum(w.pushes for w in workers) == server.pushes
    assert server.pushes == 4 * len(outcome.rows)
    assert server.status == "ok"
    assert server.steps >= 20
    for shard in outcome.nodes[-1]._shards:
        assert shard.core.version == len(outcome.rows)
    losses = [outcome.losses()[0, step] for step in (0, 15)]
    assert losses[1] < losses[0]


def test_one_worker_alone_learns_the_same_from_shards(run_trial):
    whole = run_trial(make_cell("asynchronous", 1))
    shards = run_trial(cut("asynchronous", 1, overlap=True))
    assert torch.equal(whole.parameters(0), shards.parameters(0))
    assert [row.staleness for row in shards.rows] == [0] * 8


@pytest.mark.parametrize("payload", ["0 B", "4 B", "64 KiB"])
@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
def test_as_many_shards_as_can_be_and_none(transport, payload, run_trial):
    task = {"payload": payload}
    options = {"task": task, "bucket": "2 KiB", "fields": {"transport": transport}}
    for consistency in ("synchronous", "asynchronous"):
        cell = make_cell(consistency, 3, **options)
        check_shards([cell])
        outcome = run_trial(cell)
        number = 32 if payload == "64 KiB" else 1
        assert outcome.reports[-1].pushes == number * len(outcome.rows)
        nbytes = cell.task.payload
        assert {row.bytes_sent for row in outcome.rows} == {nbytes}
        assert {row.bytes_received for row in outcome.rows} == {nbytes}


def test_more_shards_than_letters_are_refused():
    assert control.SLOTS == MOST_LETTERS
    cell = make_cell("synchronous", 2, task={"payload": "68 KiB"}, bucket="2 KiB")
    with pytest.raises(SpecError) as error:
        check_shards([cell])
    assert str(error.value) == (
        "strategy.bucket: a server keeps at most 32 buckets, and these would be 34;"
        " write at least 2176 B"
    )
    cell = make_cell("synchronous", 2, task={"payload": "68 KiB"}, bucket="2176 B")
    check_shards([cell])


def test_of_several_servers_each_keeps_as_many_shards():
    options = {"task": {"payload": "68 KiB"}, "bucket": "2 KiB"}
    check_shards([make_cell("synchronous", 2, servers=2, **options)])  # 17 each
    options["task"] = {"payload": "200 KiB"}
    with pytest.raises(SpecError, match=r"would be 34; write at least 2136 B$"):
        check_shards([make_cell("synchronous", 2, servers=3, **options)])
    check_shards([make_cell("synchronous", 2, servers=3, **options | {"bucket": "2136 B"})])


def test_a_bucket_of_no_whole_elements_is_cut_as_it_is_counted():
    # 1027 B hold 256 elements, so that 32 x 1027 B of them make 33 shards
    cell = make_cell("synchronous", 2, task={"payload": "32864 B"}, bucket="1027 B")
    with pytest.raises(SpecError, match=r"would be 33; write at least 1028 B$"):
        check_shards([cell])
    check_shards([make_cell("synchronous", 2, task={"payload": "32864 B"}, bucket="1028 B")])
