"""What a cell may ask of computing, hosts and learning rates, and what goes with what."""

import math

import pytest

from psbench.errors import SpecError
from psbench.spec import Sgd, Slow, Spec, Stragglers, cell_id

MODEL = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
ABSENT = object()


def spec(**fields):
    whole = {"task": MODEL, "batch": {"per_worker": 8}, "steps": 10, "workers": 4}
    fields = {"strategy": "ring", **whole, **fields}
    return Spec(name="x", **{name: value for name, value in fields.items() if value is not ABSENT})


def cell(**fields):
    (one,) = spec(**fields).cells()
    return one


def test_what_is_written_is_what_is_meant_and_survives_json():
    asked = spec(
        accumulate=8,
        reduce="sum",
        lr_scaling="linear",
        compute={
            "seconds": "20 ms",
            "jitter": 0.1,
            "slow": [{"rank": 3, "factor": 4, "probability": 0.5}],
            "stragglers": {"probability": 0.05, "shape": 2},
        },
        cluster={"hosts": 2, "cpus_per_worker": 3, "placement": "spread"},
        pin=False,
        timeout="1.5 min",
    )
    (one,) = asked.cells()
    assert one.compute.seconds == 0.02
    assert one.compute.slow == (Slow(rank=3, factor=4.0, probability=0.5),)
    assert one.compute.stragglers == Stragglers(probability=0.05, shape=2.0, most=100.0)
    assert (one.cpus_per_process, one.cpus, one.ranks_per_host) == (3, 12, 2)
    assert one.timeout == 90.0
    assert Spec(**asked.document()).cells() == asked.cells()


def test_defaults_leave_the_id_as_it_is():
    plain = {"accumulate": 1, "reduce": "mean", "lr_scaling": "none", "pin": True}
    empty = {"compute": None, "cluster": None, "timeout": None}
    assert cell_id(cell(**plain, **empty)) == cell_id(cell())
    seconds = {"seconds": "20 ms"}
    padded = cell_id(cell(compute={**seconds, "stragglers": None, "slow": [], "jitter": 0}))
    assert padded == cell_id(cell(compute=seconds))


@pytest.mark.parametrize(
    ("strategy", "grown"),
    [("ring", 4), ("native", 4), ("ps-sync", 4), ("ps-async", 1), ("none", 1)],
)
@pytest.mark.parametrize(
    ("scaling", "factor"), [("none", lambda k: 1), ("linear", lambda k: k), ("sqrt", math.sqrt)]
)
def test_the_learning_rate_grows_with_the_samples_of_an_update(strategy, grown, scaling, factor):
    optimizer = cell(strategy=strategy, lr_scaling=scaling).optimizer
    assert optimizer == Sgd(kind="sgd", lr=0.1 * factor(grown))


@pytest.mark.parametrize(
    ("workers", "cluster", "ranks_per_host"),
    [
        (4, None, None),
        (4, {}, None),
        (4, {"cpus_per_worker": 2}, None),
        (4, {"hosts": 1}, 4),
        (4, {"hosts": 2}, 2),
        (5, {"hosts": 2}, 3),
        (5, {"ranks_per_host": 2}, 2),
        (5, {"hosts": 3, "ranks_per_host": 2}, 2),
    ],
)
def test_ranks_a_host(workers, cluster, ranks_per_host):
    assert cell(workers=workers, cluster=cluster).ranks_per_host == ranks_per_host


PAYLOAD = {"task": {"payload": "4 B"}, "batch": ABSENT}
PS_ASYNC = {"kind": "parameter_server", "consistency": "asynchronous"}
PROFILE = {"task": {"profile": "resnet50"}, "compute": {"seconds": "200 ms"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accumulate": 0}, "accumulate: must be at least 1, got 0"),
        ({"accumulate": 9}, "accumulate: cannot cut 8 samples of a rank into 9"),
        (
            {"accumulate": 3, "batch": {"global": 11}},
            "accumulate: cannot cut 2 samples of a rank into 3",
        ),
        ({"accumulate": 2, **PAYLOAD}, "accumulate: a payload task learns nothing; leave it out"),
        ({"reduce": "avg"}, "reduce: unknown reduce 'avg' (known: mean, sum)"),
        (
            {"reduce": "sum", "strategy": "ps-async"},
            "reduce: ps-async sums no gradients of several ranks",
        ),
        ({"reduce": "sum", "strategy": "none"}, "reduce: none sums no gradients of several ranks"),
        ({"reduce": "sum", **PAYLOAD}, "reduce: a payload task learns nothing; leave it out"),
        (
            {"lr_scaling": "linear", "batch": {"global": 32}},
            "lr_scaling: batch.global does not grow with the workers; write batch.per_worker",
        ),
        (
            {"compute": {}},
            "compute.seconds: missing; set it in the spec or as an axis of the matrix",
        ),
        (
            {"compute": {"seconds": 20}},
            "compute.seconds: expected a time with its unit, such as '20 ms', got 20",
        ),
        (
            {"compute": {"seconds": "20"}},
            "compute.seconds: a unit is missing in '20'; write it as in '20 ms'"
            " (units: ns, us, µs, ms, s, min, h)",
        ),
        ({"compute": {"seconds": "0 ms"}}, "compute.seconds: must be greater than 0, got 0.0"),
        ({"compute": {"seconds": "-1 s"}}, "compute.seconds: a time cannot be negative: '-1 s'"),
        (
            {"compute": {"seconds": "1 s", "jitter": -0.1}},
            "compute.jitter: must be at least 0, got -0.1",
        ),
        (
            {"compute": {"seconds": "1 s", "slow": [{"rank": 4, "factor": 2}]}},
            "compute: slow: no rank 4 among 4 workers",
        ),
        (
            {"compute": {"seconds": "1 s", "slow": [{"rank": 0, "factr": 2}]}},
            "compute.slow[0]: unknown field 'factr'; did you mean 'factor'?"
            " (known: rank, factor, probability)",
        ),
        (
            {"compute": {"seconds": "1 s", "slow": {"rank": 0, "factor": 2}}},
            "compute.slow: expected a list of maps with rank and factor, got a map",
        ),
        (
            {"compute": {"seconds": "1 s", "slow": [{"rank": 0, "factor": 0}]}},
            "compute.slow[0].factor: must be greater than 0, got 0",
        ),
        *(
            ({"compute": {"seconds": "1 s", "stragglers": own}}, f"compute.stragglers{said}")
            for own, said in (
                ({"probability": 0.1, "shape": 200}, ".shape: must be at most 100, got 200"),
                ({"probability": 0, "shape": 2}, ".probability: must be greater than 0, got 0"),
                ({"probability": 0.1, "shape": 0}, ".shape: must be greater than 0, got 0"),
                ({"probability": 1, "shape": 1, "most": 0.5}, ".most: must be at least 1, got 0.5"),
                (0.05, ": expected a map, got 0.05"),
            )
        ),
        (
            {"cluster": {"hosts": 3}},
            "cluster: 4 workers, 2 a host, are on 2 hosts and not on 3",
        ),
        (
            {"cluster": {"placement": "pakc"}},
            "cluster.placement: unknown placement 'pakc'; did you mean 'pack'?"
            " (known: pack, spread)",
        ),
        (
            {"device": "gpu"},
            "device: unknown device 'gpu'; did you mean 'cpu'? (known: auto, cpu, cuda)",
        ),
        (
            {"device": "cuda"},
            "device: cuda needs GPUs; set cluster.gpus_per_worker, such as 0.25 for four workers on"
            " one GPU",
        ),
        (
            {"device": "cuda", "cluster": {"gpus_per_worker": 0}},
            "device: cuda needs GPUs; set cluster.gpus_per_worker, such as 0.25 for four workers on"
            " one GPU",
        ),
        (
            {"device": "cpu", "cluster": {"gpus_per_worker": 1}},
            "device: cpu uses no GPU; leave cluster.gpus_per_worker out, or write cuda",
        ),
        (
            {"cluster": {"gpus_per_worker": -0.5}},
            "cluster.gpus_per_worker: must be at least 0, got -0.5",
        ),
        (
            {"cluster": {"gpus_per_worker": 1.5}},
            "cluster.gpus_per_worker: a worker takes a share of one GPU or whole ones, got 1.5",
        ),
        (
            {"cluster": {"gpus_per_worker": "half"}},
            "cluster.gpus_per_worker: expected a number, got 'half'",
        ),
        (
            {"transport": "nccl"},
            "transport: nccl carries what lies on GPUs, and the workers are on the CPU; set"
            " cluster.gpus_per_worker to 1",
        ),
        (
            {"transport": "nccl", "cluster": {"gpus_per_worker": 0.25}},
            "transport: nccl refuses two ranks on one GPU, and cluster.gpus_per_worker is 0.25;"
            " write auto, gloo or shared_memory, over which vectors go by way of host memory, or a"
            " whole GPU for each worker",
        ),
        (
            {"transport": "nccl", "cluster": {"gpus_per_worker": 1}, "strategy": "ps-sync"},
            "transport: nccl cannot receive from whoever comes first, as a parameter server must;"
            " write auto, gloo or shared_memory",
        ),
        (
            {"transport": "nccl", "cluster": {"gpus_per_worker": 1}, "strategy": "auto"},
            "transport: auto goes by what messages of host memory take, and nccl carries none; name"
            " the algorithm and its chunks",
        ),
        (
            {**PROFILE, "batch": ABSENT},
            "batch: missing; set it in the spec or as an axis of the matrix",
        ),
        (
            {**PROFILE, "compute": ABSENT},
            "compute: missing; a profile says what share of a step each layer computes, and not how"
            " long a step takes: write such as {seconds: 200 ms}",
        ),
        *(
            ({**PROFILE, field: value}, f"{field}: a profile task learns nothing; leave it out")
            for field, value in (
                ("reduce", "sum"),
                ("lr_scaling", "sqrt"),
                ("eval_every", 2),
                ("target", {"loss": 0.1}),
            )
        ),
        *(
            (
                {**PROFILE, "strategy": strategy, "workers": 1},
                f"strategy: {kind} trains a model, and a profile task has none",
            )
            for kind, strategy in (("bare", "bare"), ("ddp", "ddp"), ("local_sgd", "local_sgd:2"))
        ),
        *(
            (
                {**PROFILE, "strategy": {**PS_ASYNC, field: value}},
                f"strategy.{field}: a profile task learns nothing; leave it out",
            )
            for field, value in (("clip_norm", 1.0), ("lr_rule", "staleness_aware"))
        ),
        ({**PROFILE, "accumulate": 9}, "accumulate: cannot cut 8 samples of a rank into 9"),
        ({"pin": "no"}, "pin: expected true, false or in_turn, got 'no'"),
        ({"timeout": "0 s"}, "timeout: must be greater than 0, got 0.0"),
        (
            {"timeout": "10 m"},
            "timeout: unknown unit 'm' in '10 m'; write it as in '20 ms'"
            " (units: ns, us, µs, ms, s, min, h)",
        ),
        ({"strategy": "bare"}, "strategy: bare is one process, not 4 workers"),
        (
            {"strategy": "bare", "workers": 1, **PAYLOAD},
            "strategy: bare trains a model, and a payload task has none",
        ),
        (
            {"strategy": "bare", "workers": 1, "eval_every": 2},
            "eval_every: bare is a plain PyTorch loop and knows no such thing; leave it out",
        ),
        (
            {"strategy": "ddp", **PAYLOAD},
            "strategy: ddp trains a model, and a payload task has none",
        ),
        (
            {"strategy": "ddp", "transport": "shared_memory"},
            "transport: shared_memory has no all-reduce of its own for ddp; write gloo",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "star", "roots": 5}},
            "strategy.roots: roots are ranks; 4 workers cannot be 5 roots",
        ),
        (
            {"strategy": "hierarchical_rails"},
            "cluster: hierarchical_rails needs to know which ranks share a host;"
            " set cluster.hosts or cluster.ranks_per_host",
        ),
        (
            {"strategy": "hierarchical_leaders", "cluster": {"cpus_per_worker": 2}},
            "cluster: hierarchical_leaders needs to know which ranks share a host;"
            " set cluster.hosts or cluster.ranks_per_host",
        ),
    ],
)
def test_mistakes(changes, message):
    with pytest.raises(SpecError) as error:
        spec(**changes)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("fields", "device", "gpus"),
    [
        ({}, "cpu", 0),
        ({"device": "cpu", "cluster": {"cpus_per_worker": 2}}, "cpu", 0),
        ({"cluster": {"gpus_per_worker": 0.25}}, "cuda", 1),
        ({"cluster": {"gpus_per_worker": 0.25}, "strategy": "ps-async"}, "cuda", 1),
        ({"device": "cuda", "cluster": {"gpus_per_worker": 0.1}}, "cuda", 0.4),
        # three fit on one, and the fourth needs another
        ({"cluster": {"gpus_per_worker": 0.3}}, "cuda", 2),
        ({"cluster": {"gpus_per_worker": 0.2}, "workers": 5}, "cuda", 1),
        ({"cluster": {"gpus_per_worker": 2}, "strategy": "ps-sync"}, "cuda", 8),
        ({"cluster": {"gpus_per_worker": 0.25, "ranks_per_host": 3}}, "cuda", 1),
        ({"cluster": {"gpus_per_worker": 0.5, "ranks_per_host": 3}}, "cuda", 2.5),
        ({"cluster": {"gpus_per_worker": 1}, "strategy": "native", "transport": "nccl"}, "cuda", 4),
        ({"cluster": {"gpus_per_worker": 1}, "strategy": "bare", "workers": 1}, "cuda", 1),
    ],
)
def test_workers_compute_on_what_is_reserved_for_them(fields, device, gpus):
    one = cell(**fields)
    assert (one.worker_device, one.gpus) == (device, pytest.approx(gpus))


def test_to_say_auto_is_to_say_nothing_and_to_name_the_device_is_a_cell_of_its_own():
    gpu = {"cluster": {"gpus_per_worker": 1}}
    assert cell_id(cell(device="auto", cluster={"gpus_per_worker": 0})) == cell_id(cell(cluster={}))
    assert cell_id(cell(device="auto", **gpu)) == cell_id(cell(cluster={"gpus_per_worker": 1.0}))
    assert len({cell_id(cell()), cell_id(cell(**gpu)), cell_id(cell(device="cuda", **gpu))}) == 3


def test_a_list_of_slow_ranks_is_one_axis():
    slow = [[], [{"rank": 1, "factor": 2}]]
    cells = spec(compute={"seconds": "1 ms"}, matrix={"compute.slow": slow}).cells()
    assert [len(one.compute.slow) for one in cells] == [0, 1]
    with pytest.raises(SpecError, match=r"unknown axis 'compute\.slow\.rank'"):
        spec(compute={"seconds": "1 ms"}, matrix={"compute.slow.rank": [1]})


def test_a_conflict_with_an_axis_names_the_cell():
    with pytest.raises(SpecError, match=r"^cluster: hierarchical_leaders needs .* \(cell 2: "):
        spec(matrix={"strategy": ["ring", "hierarchical_leaders"]})


def test_a_conflict_names_its_cell_in_one_line_of_bounded_length():
    own = {**MODEL, "model": "m:g"}
    axes = {"strategy": "hierarchical_leaders", "task.data": "x\n" * 3000}
    with pytest.raises(SpecError, match=r"^cluster: hierarchical_leaders needs") as error:
        spec(task=own, matrix={"include": [axes]})
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 400


def test_roots_are_an_axis():
    cells = spec(strategy="star", matrix={"strategy.roots": [1, 2, 4]}).cells()
    assert [one.label for one in cells] == [f"star(roots={n}), 4 workers" for n in (1, 2, 4)]
