"""Buckets, their overlap with computing, what is sent of them, and DistributedDataParallel."""

import threading

import pytest
import torch

from psbench.live.collective import collective_for
from psbench.live.computing import Computing
from psbench.live.counters import Counters
from psbench.live.device import Device
from psbench.live.headers import Header
from psbench.network import PROFILES
from psbench.schedules import ALGORITHMS, OPTIONS, schedule_for
from psbench.spec import Spec
from psbench.training import reference

OPTIMIZER = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}


def make_cell(strategy, workers, *, dtype="float64", steps=6, **fields):
    (cell,) = Spec(
        name="overlap",
        task={"model": "digits_cnn", "dtype": dtype, "optimizer": OPTIMIZER},
        steps=steps,
        strategy=strategy,
        workers=workers,
        **({"batch": {"global": 30}} | fields),
    ).cells()
    return cell


def summed(algorithm="ring", **options):
    return {"kind": "all_reduce", "algorithm": algorithm, **options}


def distance_to_reference(outcome, cell):
    expected = list(reference(cell, seed=0, repeat=0))[-1].parameters
    difference = torch.linalg.norm(outcome.parameters(0) - expected)
    return float(difference / torch.linalg.norm(expected))


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_overlap_changes_no_bit(workers, transport, run_trial):
    fields = {"transport": transport, "accumulate": 2}
    plain = run_trial(make_cell(summed(bucket="80 KiB"), workers, **fields))
    beside = run_trial(make_cell(summed(bucket="80 KiB", overlap=True), workers, **fields))
    for rank in range(workers):
        assert torch.equal(plain.parameters(rank), beside.parameters(rank))
    assert plain.losses() == beside.losses()
    assert distance_to_reference(beside, make_cell("ring", workers)) <= 1e-10
    assert {row.samples for row in beside.rows} == {row.samples for row in plain.rows}


@pytest.mark.parametrize("overlap", [False, True])
def test_buckets_of_the_backend(overlap, run_trial):
    cell = make_cell({"kind": "native", "bucket": "80 KiB", "overlap": overlap}, 3)
    assert distance_to_reference(run_trial(cell), cell) <= 1e-10


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_each_bucket_moves_what_its_schedule_says(algorithm, run_trial):
    cluster = {"ranks_per_host": 2} if algorithm.startswith("hierarchical") else None
    cells = [
        make_cell(summed(algorithm, **options), 3, cluster=cluster)
        for options in ({}, {"bucket": "80 KiB"}, {"bucket": "80 KiB", "overlap": True})
    ]
    whole, cut, beside = (run_trial(cell) for cell in cells)
    assert distance_to_reference(cut, cells[0]) <= 1e-10
    assert torch.equal(cut.parameters(2), beside.parameters(2))
    per_row = [[row.bytes_sent for row in outcome.rows] for outcome in (whole, cut, beside)]
    assert sum(per_row[0]) == sum(per_row[1]) == sum(per_row[2])
    buckets = {len(row.enters) for row in cut.rows + beside.rows}
    assert len(buckets) == 1
    assert min(buckets) > 1
    assert {row.messages_sent for row in whole.rows} <= {
        row.messages_sent // len(row.enters) for row in cut.rows
    }


def test_a_bucket_is_summed_while_others_are_computed(run_trial):
    compute = {"seconds": "300 ms"}
    strategy = summed(bucket="80 KiB", overlap=True)
    outcome = run_trial(make_cell(strategy, 2, steps=2, compute=compute))
    for row in outcome.rows:
        computed = row.begin_s + row.compute_s
        assert row.compute_s >= 0.3 * (1 - 1e-9)
        assert row.enter_s == row.enters[0] < row.enters[-1] < row.exits[-1] == row.exit_s
        assert list(row.enters) == sorted(row.enters)
        assert all(a <= b for a, b in zip(row.enters, row.exits, strict=True))
        # a layer in the middle has 32,768 of 38,283 gradients, all known at once; the layers before
        # it have 4,800
        middle = 0.3 * (1 / 3 + 2 / 3 * (38_283 - 4_800) / 38_283)
        assert row.enters[0] >= row.begin_s + middle * (1 - 1e-9)
        assert row.enters[1] < computed
        assert row.enters[-1] >= row.begin_s + 0.3 * (1 - 1e-9)


def test_a_payload_is_known_at_an_even_pace(run_trial):
    (cell,) = Spec(
        name="paced",
        task={"payload": "64 KiB"},
        compute={"seconds": "60 ms"},
        steps=3,
        workers=2,
        strategy=summed(bucket="16 KiB", overlap=True),
    ).cells()
    for row in run_trial(cell).rows:
        known = [0.06 * (1 / 3 + 2 / 3 * share) for share in (0.25, 0.5, 0.75, 1.0)]
        for entered, earliest in zip(row.enters, known, strict=True):
            assert entered - row.begin_s >= earliest * (1 - 1e-9)


def test_a_profile_is_known_as_its_layers_are(run_trial):
    (cell,) = Spec(
        name="paced",
        task={"profile": "resnet50"},
        batch={"per_worker": 64},
        compute={"seconds": "2 s"},
        steps=1,
        workers=1,
        strategy=summed(bucket="25 MiB", overlap=True),
    ).cells()
    numel = PROFILES["resnet50"].parameters
    starts = [number * numel // 4 for number in (3, 2, 1, 0)]
    for row in run_trial(cell).rows:
        assert row.samples == 64
        for entered, start in zip(row.enters, starts, strict=True):
            known = 2 * PROFILES["resnet50"].share_computed(start, numel)
            assert entered - row.begin_s >= known * (1 - 1e-9)
        # at an even pace the second half would be known half a second later
        assert row.enters[1] - row.begin_s < 2 * (1 / 3 + 2 / 3 * 0.5)


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_what_computing_beside_raises_ends_the_trial(where, run_trial):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("a model of no use")

    def prepare(nodes):
        for node in nodes:
            model = node.learner._model

            def hook(module, inputs, output):
                if where == "forward":
                    raise ValueError("a model of no use")
                return Broken.apply(output)

            model.register_forward_hook(hook)

    cell = make_cell(summed(bucket="80 KiB", overlap=True), 1)
    with pytest.raises(ValueError, match="a model of no use"):
        run_trial(cell, prepare=prepare)
    assert not [t for t in threading.enumerate() if t.name.startswith("psbench-compute")]


def test_parameters_without_a_gradient_hold_nobody_up():
    computing = Computing(None, Device())
    thread = threading.Thread(target=computing.run, args=(lambda progress: 7,))
    thread.start()
    computing.wait_for(0)  # nobody told of it, but the pass is over
    computing.finish()
    thread.join()
    assert computing.samples == 7


WIRES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
@pytest.mark.parametrize("world", [1, 2, 3, 5, 7])
def test_what_is_rounded_on_the_wire_is_the_same_on_all_ranks(
    world, transport, connect, everywhere
):
    transports = connect(world, transport)
    generator = torch.Generator().manual_seed(world)
    own = [torch.randn(101, generator=generator) for _ in range(world)]
    exact = torch.stack(own).double().sum(0)
    for algorithm in sorted(ALGORITHMS):
        hosts = {"ranks_per_host": 2} if "ranks_per_host" in OPTIONS.get(algorithm, ()) else {}
        schedule = schedule_for(algorithm, world, **hosts)
        for wire in WIRES.values():

            def go(transport, schedule=schedule, wire=wire):
                vector = own[transport.rank].clone()
                counters = Counters()
                part = collective_for(transport, schedule, numel=101, wire=wire)
                header = Header.describing(vector, generation=1, step=0)
                part.run(vector, header, counters)
                return vector, counters

            vectors, counters = zip(*everywhere(transports, go), strict=True)
            for vector in vectors[1:]:
                assert torch.equal(vector, vectors[0]), (algorithm, wire)
            if world == 1:
                assert torch.equal(vectors[0], own[0])
                continue
            assert torch.equal(vectors[0], vectors[0].to(wire).float())
            # each of at most 2 (p - 1) hops rounds once, and the end
            bound = 2 * world * torch.finfo(wire).eps / 2 * torch.stack(own).abs().sum(0)
            assert bool(((vectors[0] - exact).abs() <= bound).all()), (algorithm, wire)
            if algorithm in ("ring", "tree"):
                total = sum(c.bytes_sent for c in counters)
                assert total == 2 * (world - 1) * 101 * 2  # two bytes an element


def test_sums_are_formed_in_the_tasks_own_dtype(connect, everywhere):
    # 256 + 1 is 256 in bfloat16: with sums in it, a star's root would never grow
    transports = connect(3)
    schedule = schedule_for("star", 3)
    own = [256.0, 1.0, 1.0]

    def go(transport):
        vector = torch.full((4,), own[transport.rank])
        part = collective_for(transport, schedule, numel=4, wire=torch.bfloat16)
        part.run(vector, Header.describing(vector, generation=1, step=0), Counters())
        return vector

    for vector in everywhere(transports, go):
        assert vector.tolist() == [258.0] * 4


def test_training_with_a_narrow_wire(run_trial):
    cell = make_cell(summed(wire_dtype="bf16", bucket="80 KiB"), 3, dtype="float32")
    outcome = run_trial(cell)
    assert torch.equal(outcome.parameters(0), outcome.parameters(2))
    assert 0 < distance_to_reference(outcome, make_cell("ring", 3, dtype="float32")) <= 0.02
    narrow = sum(row.bytes_sent for row in outcome.rows)
    wide = sum(row.bytes_sent for row in run_trial(make_cell("ring", 3, dtype="float32")).rows)
    assert narrow * 2 == wide


@pytest.mark.parametrize("fields", [{}, {"accumulate": 3}, {"compute": {"seconds": "2 ms"}}])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_ddp_learns_what_one_process_learns(workers, fields, run_trial):
    cell = make_cell("ddp", workers, **fields)
    outcome = run_trial(cell)
    assert distance_to_reference(outcome, make_cell("ring", workers)) <= 1e-10
    losses = [step.loss for step in reference(make_cell("ring", 1), seed=0, repeat=0)]
    for (_, step), loss in outcome.losses().items():
        assert loss == pytest.approx(losses[step], rel=1e-9)
    assert {row.bytes_sent for row in outcome.rows[workers:]} == {-1}


def test_ddp_sums_where_the_spec_says_so(run_trial):
    summing = run_trial(make_cell("ddp", 3, reduce="sum"))
    ours = run_trial(make_cell("ring", 3, reduce="sum"))
    torch.testing.assert_close(summing.parameters(1), ours.parameters(1), rtol=1e-9, atol=1e-12)
    for key, loss in summing.losses().items():
        assert loss == pytest.approx(ours.losses()[key], rel=1e-9)


def test_the_buckets_of_ddp_are_as_large_as_the_spec_says(run_trial):
    sizes = {}
    for bucket in ("1 MiB", "80 KiB"):
        outcome = run_trial(make_cell({"kind": "ddp", "bucket": bucket}, 2))
        distributed = outcome.nodes[0].learner._distributed
        sizes[bucket] = distributed._get_ddp_logging_data()["rebuilt_bucket_sizes"]
    assert "," not in sizes["1 MiB"]
    assert "," in sizes["80 KiB"]
