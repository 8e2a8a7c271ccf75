"""Small cells to train."""

import pytest
import torch

from psbench.spec import Cell


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
        whole = {"task": model | (task or {}), "batch": {"global": 17}, "workers": 1, "steps": 5}
        return Cell(**{**whole, "strategy": "ring", **fields})

    return make
