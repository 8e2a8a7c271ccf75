"""A spec in Python: what it keeps, and the one line that each mistake earns."""

import json
import math
import subprocess
import sys

import pytest

from psbench.errors import SpecError
from psbench.spec import Cell, Spec

ADAM = {"kind": "adam", "lr": 0.1}


def test_document_loads_back_equal(fields):
    matrix = {"strategy": ["ring", "none"], "include": [{"strategy": "tree", "workers": 1}]}
    spec = Spec(**fields, matrix=matrix, repeats=2)
    document = json.loads(json.dumps(spec.document()))
    assert Spec(**document) == spec
    assert Spec(**document).cells() == spec.cells()
    assert document["strategy"] == {"kind": "all_reduce", "algorithm": "ring"}
    assert (document["repeats"], document["seed"]) == (2, 0)


def test_a_spec_keeps_its_own_copy(fields):
    spec = Spec(**fields)
    fields["task"]["optimizer"]["lr"] = 9.0
    assert spec.document()["task"]["optimizer"]["lr"] == 0.1


def test_tuples_are_lists(fields):
    assert len(Spec(**fields, matrix={"workers": (1, 2)}).cells()) == 2


def test_every_field_of_a_cell_is_one_of_a_spec():
    assert set(Spec.model_fields) - set(Cell.model_fields) == {"name", "matrix", "repeats", "seed"}
    assert set(Cell.model_fields) <= set(Spec.model_fields)


ABSENT = object()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ABSENT}, "name: missing; every spec has one"),
        ({"name": 3}, "name: expected text, got 3"),
        ({"workers": ABSENT}, "workers: missing; set it in the spec or as an axis of the matrix"),
        ({"batch": ABSENT}, "batch: missing; set it in the spec or as an axis of the matrix"),
        ({"workers": 0}, "workers: must be at least 1, got 0"),
        ({"workers": True}, "workers: expected a whole number, got true"),
        ({"workers": "4"}, "workers: expected a whole number, got '4'"),
        ({"workers": 4.0}, "workers: expected a whole number, got 4.0"),
        ({"workers": None}, "workers: expected a whole number, got null"),
        ({"workers": 2**63}, "workers: does not fit into 64 bits"),
        ({"steps": -1}, "steps: must be at least 1, got -1"),
        ({"steps": {1}}, "steps: expected plain data (a map, list, text or number), got set"),
        ({"warmup": 10}, "warmup: must be less than steps (10), got 10"),
        ({"warmup": -1}, "warmup: must be at least 0, got -1"),
        ({"eval_every": 0}, "eval_every: must be at least 1, got 0"),
        ({"repeats": 0}, "repeats: must be at least 1, got 0"),
        ({"seed": -1}, "seed: must be at least 0, got -1"),
        ({"matrix": []}, "matrix: expected a map, got a list of 0"),
        ({"batch": 4}, "batch: expected a map, got 4"),
        ({"batch": {}}, "batch: write either per_worker or global"),
        ({"batch": {"per_worker": 1, "global": 2}}, "batch: write either per_worker or global"),
        (
            {"batch": {"global_": 8}},
            "batch: unknown field 'global_'; did you mean 'global'? (known: per_worker, global)",
        ),
        (
            {"batch": {"global": 1}},
            "batch: a global batch of 1 is less than 2 workers; every rank needs a sample",
        ),
        ({"target": {}}, "target: write either accuracy or loss"),
        ({"target": {"accuracy": 1.5}}, "target.accuracy: must be at most 1, got 1.5"),
        ({"target": {"accuracy": 0}}, "target.accuracy: must be greater than 0, got 0"),
        ({"target": {"loss": math.inf}}, "target.loss: must be finite, got inf"),
        ({"engine": "virtual"}, "engine: unknown engine 'virtual' (known: live, simulated)"),
        (
            {"transport": "glo"},
            "transport: unknown transport 'glo'; did you mean 'gloo'?"
            " (known: auto, gloo, shared_memory, object_store, nccl)",
        ),
        (
            {"transport": "object_store", "strategy": "native"},
            "transport: object_store has no all-reduce of its own for native; write gloo",
        ),
        (
            {"transport": "shared_memory", "strategy": "native"},
            "transport: shared_memory has no all-reduce of its own for native; write gloo",
        ),
        (
            {"strategy": "rign"},
            "strategy: unknown strategy 'rign'; did you mean 'ring'?"
            " (known: ring, tree, double_tree, recursive_doubling, halving_doubling, direct, star,"
            " hierarchical_leaders, hierarchical_rails, auto, ps-sync, ps-async, native, ddp,"
            " none, bare, ssp:N, ps-sync+backup:N, local_sgd:N, diloco:N, easgd:N)",
        ),
        (
            {"strategy": None},
            "strategy: expected a name (ring, tree, double_tree, recursive_doubling,"
            " halving_doubling, direct, star, hierarchical_leaders, hierarchical_rails, auto,"
            " ps-sync, ps-async, native, ddp, none, bare, ssp:N, ps-sync+backup:N, local_sgd:N,"
            " diloco:N, easgd:N) or a map, got null",
        ),
        (
            {"strategy": {"kind": "allreduce"}},
            "strategy.kind: unknown strategy kind 'allreduce'; did you mean 'all_reduce'?"
            " (known: all_reduce, parameter_server, native, ddp, none, bare, local_sgd, diloco,"
            " easgd)",
        ),
        (
            {"strategy": {"algorithm": "ring"}},
            "strategy.kind: missing; one of all_reduce, parameter_server, native, ddp, none, bare,"
            " local_sgd, diloco, easgd",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "ring", "chunks": 0}},
            "strategy.chunks: must be at least 1, got 0",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "tree", "chunks": "many"}},
            "strategy.chunks: expected a whole number or auto, got 'many'",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "ring", "chunks": "auto"}},
            "strategy.chunks: ring is no pipeline: auto is for tree and double_tree",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "star", "roots": 0}},
            "strategy.roots: must be at least 1, got 0",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "star", "roots": 10**6}},
            "strategy.roots: must be at most 65536, got 1000000",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "ring", "roots": 2}},
            "strategy.roots: ring has no roots, only star has; leave it out",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "ring", "overlap": True}},
            "strategy.overlap: there is nothing to overlap with one bucket; set bucket, such as"
            " 1 MiB",
        ),
        (
            {"strategy": {"kind": "native", "bucket": 25}},
            "strategy.bucket: expected a size with its unit, such as '4 MiB', got 25",
        ),
        (
            {"strategy": {"kind": "ddp", "bucket": "1000 B"}},
            "strategy.bucket: must be at least 1024 B, got 1000 B",
        ),
        (
            {"strategy": {"kind": "all_reduce", "algorithm": "ring", "wire_dtype": "int8"}},
            "strategy.wire_dtype: unknown wire_dtype 'int8' (known: bf16, fp16)",
        ),
        (
            {"strategy": {"kind": "native", "wire_dtype": "bf16"}},
            "strategy: unknown field 'wire_dtype'; all_reduce has it "
            "(known: kind, bucket, overlap)",
        ),
        ({"task": 3}, "task: expected a map with a model, a payload or a profile, got 3"),
        ({"task": {}}, "task: write one of model (with its optimizer), payload and profile"),
        (
            {"task": {"profile": "resnet50", "payload": "4 B"}},
            "task: write one of model (with its optimizer), payload and profile",
        ),
        (
            {"task": {"profile": "resnet5"}},
            "task.profile: unknown profile 'resnet5'; did you mean 'resnet50'? (known: alexnet,"
            " vgg16, resnet50, resnet101, inception_v3, bert_large, gpt2)",
        ),
        (
            {"task": {"model": "digits_mlp"}},
            "task.optimizer: missing; set it in the spec or as an axis of the matrix",
        ),
        (
            {"task": {"model": "digits_mpl", "optimizer": ADAM}},
            "task.model: unknown model 'digits_mpl'; did you mean 'digits_mlp'?"
            " (known: digits_mlp, digits_cnn, logistic_regression, mlp, byte_lm);"
            " or a function of your own, as package.module:function",
        ),
        *(
            (
                {"task": {"model": name, "optimizer": ADAM}},
                f"task.model: expected package.module:function, Python names joined by dots,"
                f" got {name!r}",
            )
            for name in (
                "my-models:gru",
                "models.:gru",
                "models:",
                ":gru",
                "a:b:c",
                "m:1st",
                "m:g\n",
            )
        ),
        (
            {"task": {"model": 3, "optimizer": ADAM}},
            "task.model: expected text, got 3",
        ),
        (
            {"task": {"model": "mlp", "optimizer": ADAM}},
            "task.parameters: missing; set it in the spec or as an axis of the matrix",
        ),
        (
            {"task": {"model": "mlp", "parameters": 99, "optimizer": ADAM}},
            "task.parameters: must be at least 100, got 99",
        ),
        (
            {"task": {"model": "mlp", "parameters": 1e300, "optimizer": ADAM}},
            f"task.parameters: must be at most 10000000000, got {str(int(1e300))[:60]}...",
        ),
        (
            {"task": {"model": "mlp", "parameters": 1000.5, "optimizer": ADAM}},
            "task.parameters: expected a whole number, got 1000.5",
        ),
        (
            {"task": {"model": "mlp", "parameters": "5e6", "optimizer": ADAM}},
            "task.parameters: expected a whole number, got '5e6'",
        ),
        (
            {"task": {"model": "m:g", "parameters": 1000, "optimizer": ADAM}},
            "task.parameters: only mlp is built to a number of parameters, not m:g; leave it out",
        ),
        (
            {"task": {"model": "digits_cnn", "data": "x.npz", "optimizer": ADAM}},
            "task.data: digits_cnn has data of its own; leave it out",
        ),
        (
            {"task": {"model": "byte_lm", "data": "", "optimizer": ADAM}},
            "task.data: expected the path of a file or folder, got ''",
        ),
        (
            {"task": {"model": "byte_lm", "options": {"width": 8}, "optimizer": ADAM}},
            "task.options: byte_lm takes no options; leave them out",
        ),
        (
            {"task": {"model": "m:g", "options": [8], "optimizer": ADAM}},
            "task.options: expected a map, got a list of 1",
        ),
        (
            {"task": {"model": "m:g", "options": {"data": "x"}, "optimizer": ADAM}},
            "task.options: data has a field of its own; write it as task.data",
        ),
        (
            {"task": {"model": "m:g", "options": {"a": [{"b": math.inf}]}, "optimizer": ADAM}},
            "task.options: a[0].b must be finite, got inf",
        ),
        (
            {"task": {"model": "digits_mlp", "optimizer": "sgd"}},
            "task.optimizer: expected a map, got 'sgd'",
        ),
        (
            {"task": {"model": "digits_mlp", "optimizer": {**ADAM, "lr": math.nan}}},
            "task.optimizer.lr: must be finite, got nan",
        ),
        (
            {"task": {"model": "digits_mlp", "optimizer": {**ADAM, "betas": [0.9]}}},
            "task.optimizer.betas: expected a list of two numbers, got a list of 1",
        ),
        (
            {"task": {"model": "digits_mlp", "optimizer": {**ADAM, "betas": [0.9, 1]}}},
            "task.optimizer.betas[1]: must be less than 1, got 1",
        ),
        (
            {"task": {"model": "digits_mlp", "optimizer": {**ADAM, "momentum": 0.9}}},
            "task.optimizer: unknown field 'momentum'; sgd has it (known: kind, lr, betas, eps)",
        ),
        (
            {"task": {"payload": 4}, "batch": ABSENT},
            "task.payload: expected a size with its unit, such as '4 MiB', got 4",
        ),
        (
            {"task": {"payload": "6 B"}, "batch": ABSENT},
            "task.payload: 6 B is not a whole number of float32 elements; write a multiple of 4 B",
        ),
        (
            {"task": {"payload": "4 B", "dtype": "float64"}, "batch": ABSENT},
            "task.payload: 4 B is not a whole number of float64 elements; write a multiple of 8 B",
        ),
        ({"task": {"payload": "4 B"}}, "batch: a payload task has no batch; leave it out"),
        (
            {"task": {"payload": "4 B"}, "batch": ABSENT, "eval_every": 1},
            "eval_every: a payload task learns nothing; leave it out",
        ),
        (
            {"task": {"payload": "4 B"}, "batch": ABSENT, "target": {"loss": 1.0}},
            "target: a payload task learns nothing; leave it out",
        ),
    ],
)
def test_mistakes(fields, changes, message):
    fields = {name: value for name, value in {**fields, **changes}.items() if value is not ABSENT}
    with pytest.raises(SpecError) as error:
        Spec(**fields)
    assert str(error.value) == message


@pytest.mark.parametrize("typo", ["worker", "self", "cells", "_cells"])
def test_unknown_fields_are_reported_before_what_is_missing(fields, typo):
    fields[typo] = fields.pop("workers")
    with pytest.raises(SpecError, match=rf"^unknown field '{typo}'.*\(known: name, task, "):
        Spec(**fields)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-x", "a b", "é", "x" * 65, "a\n"])
def test_names_that_are_no_folder(fields, name):
    with pytest.raises(SpecError, match=r"^name: names a folder"):
        Spec(**{**fields, "name": name})


def test_data_without_end(fields):
    loop: list = []
    loop.append(loop)
    with pytest.raises(SpecError, match=r"^steps: nested more than 50 deep$"):
        Spec(**{**fields, "steps": loop})


def test_reading_a_spec_needs_neither_ray_nor_torch():
    code = (
        "import sys, psbench.spec; print({'ray', 'torch', 'pandas', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
