"""How tests share test processes, where there are several (`pytest -n 2 --dist loadgroup`)."""

import pytest

STARTS_RAY = {
    "test_auto.py",
    "test_engine.py",
    "test_gpu_placement.py",
    "test_layouts.py",
    "test_object_store.py",
    "test_two_nodes.py",
}


def pytest_collection_modifyitems(items):
    """Have all tests that start Ray run in one process, one after another: each takes the whole
    machine, and waits no longer than a user would."""
    for item in items:
        starts_ray = item.path.parent.name == "driver" or item.path.name in STARTS_RAY
        if starts_ray or "object_store" in item.name:
            item.add_marker(pytest.mark.xdist_group("ray"))
