"""Data of the user's own for built-in models: what is read, and what each mistake earns."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from psbench.errors import SpecError


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A new working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problem(make_task, model, **fields) -> str:
    with pytest.raises(SpecError) as error:
        make_task(model, **fields)
    text = str(error.value)
    assert "\n" not in text
    return text


CLASSES = {"inputs": np.ones((6, 2, 3), np.float32), "targets": np.array([0, 1, 2, 0, 1, 2], "i2")}


@pytest.mark.parametrize("model", ["logistic_regression", "mlp"])
def test_samples_of_ones_own(make_task, here, model):
    np.savez(here / "x.npz", **CLASSES)
    task = make_task(model, data=str(here / "x.npz"))
    train, held_out = task.data()
    assert (len(train), len(held_out)) == (4, 2)
    assert (train.inputs.dtype, train.targets.dtype) == (torch.float32, torch.int64)
    assert sorted([*train.targets.tolist(), *held_out.targets.tolist()]) == [0, 0, 1, 1, 2, 2]
    assert task.model()(train.inputs).shape == (4, 3)


FORM = (
    "; expected an .npz file with the arrays inputs, (n, ...) of floating-point numbers, and"
    " targets, (n,) of whole numbers from 0 up"
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": np.ones((6, 2), int)}, "inputs are int64 of shape (6, 2)"),
        ({"targets": np.ones(6)}, "targets are float64 of shape (6,)"),
        ({"targets": np.ones((6, 1), int)}, "targets are int64 of shape (6, 1)"),
        ({"targets": np.arange(5)}, "6 inputs and 5 targets"),
        ({"inputs": np.ones((1, 2)), "targets": np.zeros(1, int)}, "1 samples; two are the least"),
        ({"inputs": np.ones((6, 0))}, "inputs are float64 of shape (6, 0), which holds nothing"),
        ({"targets": np.arange(6) - 1}, "targets from -1 to 4; two classes are the least"),
        ({"targets": np.zeros(6, int)}, "targets from 0 to 0; two classes are the least"),
        ({"labels": CLASSES["targets"], "targets": None}, "holds inputs, labels"),
        ({"inputs": np.array([{}] * 6)}, "holds pickled objects"),
    ],
)
def test_samples_of_another_form(make_task, here, changes, message):
    arrays = {name: array for name, array in (CLASSES | changes).items() if array is not None}
    np.savez(here / "x.npz", **arrays)
    text = problem(make_task, "logistic_regression", data="x.npz")
    assert text.startswith(f"task.data: x.npz: {message}")
    assert text.endswith(FORM)


def test_pickled_objects_are_not_executed(make_task, here):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (here / "sprung",))

    np.savez(here / "x.npz", **(CLASSES | {"inputs": np.array([Trap()] * 6, dtype=object)}))
    (here / "y.npz").write_bytes(pickle.dumps(Trap()))
    for name in ("x.npz", "y.npz"):
        text = problem(make_task, "mlp", data=name)
        assert text.startswith(f"task.data: {name}: ")
        assert text.endswith(FORM)
    assert not (here / "sprung").exists()
    pickle.loads((here / "y.npz").read_bytes())  # noqa: S301
    assert (here / "sprung").exists()  # it was a trap indeed


def test_files_that_are_no_samples(make_task, here):
    np.save(here / "x.npy", CLASSES["inputs"])
    (here / "empty.npz").touch()
    (here / "torn.npz").write_bytes(b"PK\x03\x04 and no more")
    for name in ("x.npy", "empty.npz", "torn.npz", "."):
        text = problem(make_task, "logistic_regression", data=name)
        assert text.startswith(f"task.data: {name}: ")
        assert text.endswith(FORM)
    text = problem(make_task, "logistic_regression", data="no.npz")
    assert text == f"task.data: no.npz: no such file or folder, seen from {here}"


def test_text_of_ones_own(make_task, here):
    (here / "texts" / "b").mkdir(parents=True)
    (here / "texts" / "b" / "1").write_bytes(b"\xff" * 65)
    (here / "texts" / "a").write_bytes(b"a" * 65)
    (here / "texts" / "c").write_bytes(b"c" * 70)
    train, held_out = make_task("byte_lm", data="texts").data()
    assert train.inputs[:, 0].tolist() == [ord("a"), 255]
    assert held_out.targets.tolist() == [[ord("c")] * 64]
    (here / "one").write_bytes(bytes(range(130)))
    train, held_out = make_task("byte_lm", data="one").data()
    assert train.inputs.tolist() == [[*range(64)]]
    assert held_out.targets.tolist() == [[*range(66, 130)]]
    (here / "short").write_bytes(bytes(129))
    assert problem(make_task, "byte_lm", data="short") == (
        "task.data: short: 129 bytes; two windows of 65 are the least, one to train on and one"
        " held out"
    )
    text = problem(make_task, "byte_lm", data="no")
    assert text == f"task.data: no: no such file or folder, seen from {here}"
