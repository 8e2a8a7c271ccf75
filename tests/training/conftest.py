"""Small cells to train."""

import pytest
import torch

from psbench.spec import Cell, ModelTask
from psbench.training import build_task


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Equal bits are promised for one thread; and such models gain nothing by more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def make_cell():
    """Return a function that makes a cell in float64, whose batch of 17 divides by no small world;
    `task` takes the place of fields of the task, anything else of fields of the cell."""

    def make(*, task=None, **fields):
        model = {"model": "digits_mlp", "dtype": "float64", "optimizer": {"kind": "sgd", "lr": 0.1}}
        model |= task or {}
        if model["model"] == "mlp":
            model = {"parameters": 3000} | model
        whole = {"task": model, "batch": {"global": 17}, "workers": 1, "steps": 5}
        return Cell(**{**whole, "strategy": "ring", **fields})

    return make


@pytest.fixture(scope="session")
def make_task():
    """Return a function that makes the task of a model's name and other fields of `task`."""

    def make(model, **fields):
        if model == "mlp":
            fields = {"parameters": 3000} | fields
        return build_task(ModelTask(model=model, optimizer={"kind": "sgd", "lr": 0.1}, **fields))

    return make
