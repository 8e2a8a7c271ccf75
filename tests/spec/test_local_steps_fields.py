"""What a spec may ask of strategies with local steps, and what it earns for the rest."""

import pytest

from psbench.errors import SpecError
from psbench.spec import (
    AllReduce,
    DiLoCo,
    Easgd,
    LocalSgd,
    Spec,
    carrier,
    cell_id,
    is_colocated,
    strategy_label,
)

MODEL = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
RING = AllReduce(kind="all_reduce", algorithm="ring")


def spec(strategy, **fields):
    whole = {"task": MODEL, "batch": {"per_worker": 8}, "steps": 24, "workers": 4}
    return Spec(**{"name": "x", **whole, **fields, "strategy": strategy})


def cell(strategy, **fields):
    (one,) = spec(strategy, **fields).cells()
    return one


def test_a_short_name_takes_a_number():
    assert cell("local_sgd:8").strategy == LocalSgd(kind="local_sgd", every=8, over=RING)
    assert cell("diloco:32").strategy == DiLoCo(
        kind="diloco", every=32, lr=0.7, momentum=0.9, nesterov=True, over=RING
    )
    assert cell("easgd:4").strategy == Easgd(kind="easgd", every=4, alpha=None, over=RING)
    assert cell("local_sgd:8").servers == 0
    assert cell({"kind": "easgd", "every": 4, "over": "ps-async"}).servers == 1


def test_to_write_what_is_meant_anyway_is_the_same_cell():
    assert cell_id(cell("diloco:8")) == cell_id(
        cell({"kind": "diloco", "every": 8, "lr": 0.7, "nesterov": True, "over": "ring"})
    )
    ids = {cell_id(cell(name)) for name in ("diloco:8", "local_sgd:8", "easgd:8", "diloco:9")}
    assert len(ids) == 4


def test_every_and_over_are_axes():
    axes = {"strategy.every": [2, 4], "strategy.over": ["ring", "native"]}
    cells = spec("local_sgd:8", transport="gloo", matrix=axes).cells()
    assert [strategy_label(one.strategy) for one in cells] == [
        "local_sgd:2",
        "local_sgd:2(over=native)",
        "local_sgd:4",
        "local_sgd:4(over=native)",
    ]
    strategy = {"kind": "local_sgd", "every": 4, "over": "tree"}
    cells = spec(strategy, matrix={"strategy.over.chunks": [2, 4]}).cells()
    assert [carrier(one.strategy).chunks for one in cells] == [2, 4]


def test_an_update_rests_on_one_worker():
    assert cell("diloco:8", lr_scaling="linear").optimizer.lr == 0.1


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("local_sgd", "strategy: expected local_sgd:N, N the whole number every, got 'local_sgd'"),
        (
            "diloco:many",
            "strategy: expected diloco:N, N the whole number every, got 'diloco:many'",
        ),
        ("diloco:-1", "strategy: expected diloco:N, N the whole number every, got 'diloco:-1'"),
        ("local_sgd:0", "strategy.every: must be at least 1, got 0"),
        ({"kind": "local_sgd"}, "strategy.every: missing; set it in the spec or as an axis of the"),
        ({"kind": "local_sgd", "every": 2.5}, "strategy.every: expected a whole number, got 2.5"),
        (
            {"kind": "local_sgd", "every": 8, "lr": 1.0},
            "strategy: unknown field 'lr'; diloco has it (known: kind, every, over)",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "rign"},
            "strategy.over: unknown strategy 'rign'; did you mean 'ring'?",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "none"},
            "strategy.over.kind: unknown over kind 'none' (known: all_reduce, native, parameter_",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "diloco:2"},
            "strategy.over.kind: unknown over kind 'diloco' (known: all_reduce, native, parameter_",
        ),
        (
            {"kind": "diloco", "every": 8, "over": {"kind": "all_reduce", "algorithm": "rnig"}},
            "strategy.over.algorithm: unknown algorithm 'rnig'; did you mean 'ring'?",
        ),
        (
            {
                "kind": "diloco",
                "every": 8,
                "over": {"kind": "native", "bucket": "1 MiB", "overlap": True},
            },
            "strategy.over: what is sent is known after a step alone; leave overlap out",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "ps-async"},
            "strategy.over: a mean is of all ranks; set consistency to synchronous, or take easgd",
        ),
        (
            {
                "kind": "local_sgd",
                "every": 8,
                "over": {"kind": "parameter_server", "consistency": "synchronous", "backup": 1},
            },
            "strategy.over: with local steps servers are synchronous or asynchronous, with no",
        ),
        (
            {
                "kind": "easgd",
                "every": 8,
                "over": {"kind": "parameter_server", "consistency": "asynchronous", "staleness": 2},
            },
            "strategy.over: with local steps servers are synchronous or asynchronous, with no",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "hierarchical_rails"},
            "cluster: hierarchical_rails needs to know which ranks share a host;",
        ),
        (
            {
                "kind": "diloco",
                "every": 8,
                "over": {"kind": "all_reduce", "algorithm": "star", "roots": 5},
            },
            "strategy.over.roots: roots are ranks; 4 workers cannot be 5 roots",
        ),
        ({"kind": "diloco", "every": 8, "lr": 0}, "strategy.lr: must be greater than 0, got 0"),
        (
            {"kind": "diloco", "every": 8, "momentum": 1.0},
            "strategy.momentum: must be less than 1, got 1.0",
        ),
        (
            {"kind": "diloco", "every": 8, "momentum": 0.0},
            "strategy.nesterov: Nesterov's way is one of momentum; set momentum, such as 0.9, or",
        ),
        ({"kind": "easgd", "every": 8, "alpha": 0}, "strategy.alpha: must be greater than 0, got"),
        ({"kind": "easgd", "every": 8, "alpha": 1}, "strategy.alpha: must be less than 1, got 1"),
        (
            {"kind": "easgd", "every": 8, "alpha": 0.5},
            "strategy.alpha: 0.5 lets the centre of 4 workers swing ever further; write at most",
        ),
    ],
)
def test_mistakes(strategy, message):
    with pytest.raises(SpecError) as error:
        spec(strategy)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("strategy", "fields", "message"),
    [
        (
            "local_sgd:8",
            {"task": {"payload": "4 KiB"}, "batch": None},
            "strategy: local_sgd trains a model, and a payload task has none",
        ),
        ("diloco:8", {"reduce": "sum"}, "reduce: diloco:8 sums no gradients of several ranks"),
        (
            "local_sgd:8",
            {"eval_every": 12},
            "eval_every: ranks agree every 8 steps, and there is nothing to evaluate in between;"
            " write a multiple of that, not 12",
        ),
        (
            {"kind": "easgd", "every": 8, "over": "ps-async"},
            {"steps": 20},
            "steps: servers count pushes, and workers push every 8 steps; write a multiple of that,"
            " not 20",
        ),
        (
            {"kind": "easgd", "every": 8, "over": "ps-sync"},
            {"warmup": 4},
            "warmup: servers count pushes, and workers push every 8 steps; write a multiple of",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "native"},
            {"transport": "shared_memory"},
            "transport: shared_memory has no all-reduce of its own for native; write gloo",
        ),
        (
            {"kind": "local_sgd", "every": 8, "over": "ps-sync"},
            {"transport": "nccl", "cluster": {"gpus_per_worker": 1}},
            "transport: nccl cannot receive from whoever comes first, as a parameter server must;",
        ),
        (
            "ring",
            {"task": {**MODEL, "optimizer": {"kind": "sgd", "lr": 0.1, "nesterov": True}}},
            "task.optimizer.nesterov: Nesterov's way is one of momentum; set momentum, such as",
        ),
    ],
)
def test_what_does_not_go_together(strategy, fields, message):
    with pytest.raises(SpecError) as error:
        spec(strategy, **fields)
    assert str(error.value).startswith(message)


def test_servers_are_as_many_and_where_they_are_asked_for():
    server = {"kind": "parameter_server", "consistency": "synchronous"}
    strategy = {"kind": "diloco", "every": 8, "over": {**server, "servers": 3}}
    assert cell(strategy).servers == 3
    colocated = {**strategy, "over": {**server, "placement": "colocated"}}
    one = cell(colocated, cluster={"hosts": 2})
    assert (one.servers, is_colocated(one.strategy)) == (2, True)


def test_one_in_turn_may_be_drawn_by_any_share():
    strategy = {"kind": "easgd", "every": 8, "alpha": 0.9, "over": "ps-async"}
    assert cell(strategy).strategy.alpha == 0.9
