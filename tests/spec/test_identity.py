"""Cell ids: stable over releases, the same however the cell is written."""

import hashlib
import json
from pathlib import Path

import pytest

from psbench.spec import Cell, Spec, cell_id

GOLDEN = json.loads(Path(__file__).with_name("golden_ids.json").read_text())


@pytest.mark.parametrize("entry", GOLDEN, ids=[entry["id"][:12] for entry in GOLDEN])
def test_published_ids_never_change(entry):
    assert cell_id(Cell(**entry["cell"])) == entry["id"]


def test_golden_ids_differ():
    assert len({entry["id"] for entry in GOLDEN}) == len(GOLDEN) >= 12


def test_an_id_is_the_hash_of_what_differs_from_the_defaults():
    cell = Cell(task={"payload": "1 KiB"}, steps=3, workers=2, strategy="ring")
    text = (
        '{"id_version":1,"steps":3,"strategy":{"algorithm":"ring","kind":"all_reduce"},'
        '"task":{"payload":"1024 B"},"workers":2}'
    )
    assert cell_id(cell) == hashlib.sha256(text.encode()).hexdigest()


def test_writing_does_not_matter(fields):
    def only_id(**changes) -> str:
        (cell,) = Spec(**{**fields, **changes}).cells()
        return cell_id(cell)

    task = {"optimizer": {"lr": 1e-1, "momentum": 0, "kind": "sgd"}, "model": "digits_mlp"}
    same = [
        {"name": "other", "repeats": 7, "seed": 3},
        {"strategy": {"algorithm": "ring", "kind": "all_reduce", "chunks": None}},
        {"transport": "auto", "engine": "live", "warmup": 0, "eval_every": None, "target": None},
        {"task": {**task, "dtype": "float32"}},
        {"workers": 1, "matrix": {"workers": [2]}},
    ]
    assert {only_id(**changes) for changes in same} == {only_id()}
    different = [{"steps": 11}, {"workers": 3}, {"strategy": "tree"}, {"warmup": 1}]
    assert len({only_id(**changes) for changes in different} | {only_id()}) == 5
