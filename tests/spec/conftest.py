"""A valid spec to vary."""

import pytest


@pytest.fixture
def fields():
    """The fields of a valid spec of one cell."""
    return {
        "name": "x",
        "task": {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}},
        "batch": {"per_worker": 4},
        "steps": 10,
        "workers": 2,
        "strategy": "ring",
    }
