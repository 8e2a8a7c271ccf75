"""The schema accepts what loads and marks what an editor can see is wrong."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from psbench.spec import LR_RULES, MODELS, SHORTHANDS, Spec, spec_schema

QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.yaml"


@pytest.fixture(scope="module")
def validator():
    schema = spec_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_quickstart_is_valid(validator):
    assert validator.is_valid(yaml.safe_load(QUICKSTART.read_text()))
    assert Spec.load(QUICKSTART).name == "quickstart"
    assert len(Spec.load(QUICKSTART).cells()) == 6


@pytest.mark.parametrize(
    "changes",
    [
        {"strategy": {"kind": "all_reduce", "algorithm": "ring", "chunks": 4}},
        {
            "strategy": {"kind": "parameter_server"},
            "matrix": {"strategy.consistency": ["synchronous"]},
        },
        {"strategy": {"kind": "parameter_server", "lr_rule": "staleness_aware"}},
        {"strategy": {"kind": "parameter_server", "lr_rule": {"kind": LR_RULES[-1], "decay": 0}}},
        {"matrix": {"strategy.lr_rule": list(LR_RULES), "strategy.lr_rule.strength": [0.1]}},
        {"task": {"payload": "4 MiB"}},
        {"task": {"profile": "gpt2", "dtype": "float64"}, "matrix": {"task.profile": ["vgg16"]}},
        {"task": {"model": "digits_mlp", "optimizer": {"kind": "adam", "betas": [0.9, 0.99]}}},
        {"batch": {"global": 8}, "target": {"loss": 0.1}, "matrix": None},
        {"matrix": {"strategy": ["ring", {"kind": "none"}], "task.optimizer.lr": [1, 0.5]}},
        {"matrix": {"include": [{"workers": 1}], "exclude": [{"strategy": "ring"}]}},
        *({"strategy": name} for name in SHORTHANDS),
        *({"matrix": {"task.model": [name]}} for name in (*MODELS, "my.models:gru")),
        {"task": {"model": "mlp", "parameters": 5e6}, "matrix": {"task.parameters": [1e6, 200]}},
        {"task": {"model": "my.models:gru", "data": "x.csv", "options": {"width": 8, "a": [None]}}},
        {"matrix": {"task.options.width": [8, 16], "include": [{"task.options.width": 4}]}},
    ],
)
def test_valid(validator, fields, changes):
    assert list(validator.iter_errors({**fields, **changes})) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"worker": 1},
        {"name": "../x"},
        {"workers": 0},
        {"workers": "two"},
        {"strategy": "rign"},
        {"strategy": {"kind": "all_reduce", "algorithm": "rign"}},
        {"strategy": {"kind": "parameter_server", "lr_rule": "stale"}},
        {"task": {"payload": 4}},
        {"task": {"profile": "resnet5"}},
        {"task": {"model": "digits_mpl"}},
        {"task": {"model": "my-models:gru"}},
        {"task": {"model": "mlp", "parameters": 10.5}},
        {"task": {"model": "mlp", "parameters": 99}},
        {"task": {"model": "my.models:gru", "options": 3}},
        {"matrix": {"task.options.width": 8}},
        {"task": {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0}}},
        {"batch": {"global_": 8}},
        {"matrix": {"worker": [1]}},
        {"matrix": {"workers": []}},
        {"matrix": {"workers": ["two"]}},
        {"matrix": {"include": [{"worker": 1}]}},
    ],
)
def test_not_valid(validator, fields, changes):
    assert not validator.is_valid({**fields, **changes})


def test_a_spec_needs_only_a_name(validator):
    assert validator.is_valid({"name": "x"})
    assert not validator.is_valid({})
