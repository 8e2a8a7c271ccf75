"""A cell's defaults, its derived values, and that each built-in name is written once."""

from typing import get_args

import pytest
from pydantic import ValidationError

from psbench.spec import (
    ALGORITHMS,
    CONSISTENCIES,
    DTYPES,
    MODELS,
    NUMBERED,
    OPTIMIZERS,
    PROFILES,
    SHORTHANDS,
    STRATEGIES,
    TRANSPORTS,
    Adam,
    AllReduce,
    Bare,
    Cell,
    Ddp,
    DiLoCo,
    Easgd,
    LocalSgd,
    ModelTask,
    Native,
    NoSync,
    ParameterServer,
    PayloadTask,
    ProfileTask,
    Sgd,
    strategy_label,
)
from psbench.spec.task import ITEM_SIZES

MODEL = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 1}}


def make(**fields) -> Cell:
    whole = {"task": MODEL, "batch": {"per_worker": 4}, "steps": 10, "workers": 2}
    return Cell(**{"strategy": "ring", **whole, **fields})


def test_defaults():
    cell = make()
    assert cell.task == ModelTask(
        model="digits_mlp", optimizer=Sgd(kind="sgd", lr=1.0, momentum=0.0), dtype="float32"
    )
    assert cell.strategy == AllReduce(kind="all_reduce", algorithm="ring", chunks=None)
    assert (cell.warmup, cell.eval_every, cell.target) == (0, None, None)
    assert (cell.engine, cell.transport) == ("live", "auto")
    assert Adam(kind="adam", lr=0.1) == Adam(kind="adam", lr=0.1, betas=(0.9, 0.999), eps=1e-8)


def test_a_cell_cannot_change_and_survives_json():
    cell = make(task={**MODEL, "optimizer": {"kind": "adam", "lr": 0.1, "betas": [0.8, 0.9]}})
    with pytest.raises(ValidationError, match="frozen"):
        cell.steps = 3
    assert Cell.model_validate(cell.model_dump(mode="json", by_alias=True)) == cell
    assert hash(cell) == hash(cell.model_copy(deep=True))
    own = make(task={**MODEL, "model": "m:g", "options": {"width": 8, "layers": [1, 2]}})
    assert Cell.model_validate(own.model_dump(mode="json", by_alias=True)) == own
    assert hash(own) == hash(own.model_copy(deep=True))


@pytest.mark.parametrize(
    ("size", "nbytes"), [("0 B", 0), ("4 MiB", 4 * 2**20), ("25 MB", 25_000_000), ("1.5 KiB", 1536)]
)
def test_payload_in_bytes(size, nbytes):
    cell = make(task={"payload": size}, batch=None)
    assert isinstance(cell.task, PayloadTask)
    assert cell.task.payload == nbytes
    assert Cell.model_validate(cell.model_dump(mode="json", by_alias=True)) == cell


@pytest.mark.parametrize(
    ("batch", "workers", "total"),
    [({"per_worker": 4}, 3, 12), ({"global": 7}, 3, 7), ({"global": 3}, 3, 3)],
)
def test_global_batch(batch, workers, total):
    assert make(batch=batch, workers=workers).global_batch == total


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_samples_and_computing_times_but_no_optimizer(name):
    cell = make(task={"profile": name}, compute={"seconds": "200 ms"}, accumulate=2)
    assert cell.task == ProfileTask(profile=name, dtype="float32")
    assert (cell.global_batch, cell.optimizer) == (8, None)
    assert Cell.model_validate(cell.model_dump(mode="json", by_alias=True)) == cell


def test_a_payload_has_no_batch():
    assert make(task={"payload": "4 B"}, batch=None).global_batch == 0


@pytest.mark.parametrize(
    ("strategy", "label", "servers"),
    [
        ("ring", "ring", 0),
        ("tree", "tree", 0),
        ("ps-sync", "ps-sync", 1),
        ("ps-async", "ps-async", 1),
        ("native", "native", 0),
        ("none", "none", 0),
        ({"kind": "all_reduce", "algorithm": "ring", "chunks": 8}, "ring(chunks=8)", 0),
        ({"kind": "all_reduce", "algorithm": "ring", "chunks": None}, "ring", 0),
        ("double_tree", "double_tree", 0),
        ({"kind": "all_reduce", "algorithm": "star", "roots": 1}, "star(roots=1)", 0),
        ("ddp", "ddp", 0),
        ({"kind": "ddp", "bucket": "1 MiB"}, "ddp(bucket=1.00 MiB)", 0),
        (
            {"kind": "all_reduce", "algorithm": "tree", "bucket": "25 MiB", "overlap": True},
            "tree(bucket=25.0 MiB, overlap)",
            0,
        ),
        (
            {"kind": "all_reduce", "algorithm": "ring", "wire_dtype": "bf16"},
            "ring(wire_dtype=bf16)",
            0,
        ),
        ("local_sgd:8", "local_sgd:8", 0),
        ({"kind": "diloco", "every": 32, "lr": 0.5}, "diloco:32(lr=0.5)", 0),
        (
            {"kind": "local_sgd", "every": 8, "over": {"kind": "native", "bucket": "1 MiB"}},
            "local_sgd:8(over=native(bucket=1.00 MiB))",
            0,
        ),
        ({"kind": "easgd", "every": 4, "alpha": 0.1, "over": "ring"}, "easgd:4(alpha=0.1)", 0),
    ],
)
def test_labels_and_servers(strategy, label, servers):
    cell = make(strategy=strategy)
    assert strategy_label(cell.strategy) == label
    assert cell.servers == servers
    assert cell.label == f"{label}, 2 workers"
    assert make(strategy=strategy, workers=1).label == f"{label}, 1 worker"


def _kinds(*models) -> tuple[str, ...]:
    return tuple(get_args(model.model_fields["kind"].annotation)[0] for model in models)


def test_each_name_is_known_where_it_is_used():
    assert _kinds(Sgd, Adam) == OPTIMIZERS
    every_step = _kinds(AllReduce, ParameterServer, Native, Ddp, NoSync, Bare)
    assert every_step + _kinds(LocalSgd, DiLoCo, Easgd) == STRATEGIES
    assert get_args(AllReduce.model_fields["algorithm"].annotation) == (*ALGORITHMS, "auto")
    assert get_args(ParameterServer.model_fields["consistency"].annotation) == CONSISTENCIES
    names, _ = ModelTask.model_json_schema()["properties"]["model"]["anyOf"]
    assert tuple(names["enum"]) == MODELS
    assert get_args(Cell.model_fields["transport"].annotation) == TRANSPORTS
    assert tuple(ITEM_SIZES) == DTYPES


def test_shorthands_name_every_algorithm_and_consistency():
    wholes = [*SHORTHANDS.values(), *(fields for fields, _ in NUMBERED.values())]
    named = {value for fields in wholes for value in fields.values()}
    assert named == {*STRATEGIES, *ALGORITHMS, "auto", *CONSISTENCIES}
    for name, fields in SHORTHANDS.items():
        where = {"workers": 1, "cluster": {"hosts": 1}}
        assert make(strategy=name, **where) == make(strategy=fields, **where)
    for name, (fields, number) in NUMBERED.items():
        cell = make(workers=4, strategy=f"{name}:3")
        assert cell == make(workers=4, strategy={**fields, number: 3})
        assert strategy_label(cell.strategy) == f"{name}:3"
