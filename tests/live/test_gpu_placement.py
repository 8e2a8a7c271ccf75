"""GPUs asked of Ray: for workers alone, in shares. Ray is told of GPUs that are not there."""

import os
import tempfile

import pytest
import ray
import torch

from psbench.errors import PlacementError
from psbench.live.engine import LiveEngine
from psbench.live.placement import Layout, Pool
from psbench.spec import Spec

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="the GPUs here are real ones")


@pytest.fixture(scope="module")
def two_gpus():
    """A Ray of 3 CPUs that takes this machine for one with 2 GPUs."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # a short path: Ray's sockets lie deep in it
    with tempfile.TemporaryDirectory(prefix="psb-", ignore_cleanup_errors=True) as folder:
        ray.init(
            address="local",
            num_cpus=3,
            num_gpus=2,
            include_dashboard=False,
            object_store_memory=80 * 2**20,
            log_to_driver=False,
            _temp_dir=folder,
        )
        yield
        ray.shutdown()


def make_cell(**fields):
    base = {"task": {"payload": "1 KiB"}, "steps": 1, "workers": 2, "strategy": "ps-sync"}
    (cell,) = Spec(name="gpus", **base | fields).cells()
    return cell


def test_more_than_there_are_is_refused_before_anything_waits(two_gpus):
    cell = make_cell(cluster={"gpus_per_worker": 2})
    with pytest.raises(PlacementError) as error, LiveEngine([cell]):
        pass
    assert str(error.value) == (
        "the spec needs 4 GPUs at once (cluster.gpus_per_worker) and the cluster has 2;"
        " ask for fewer, or compute on the CPU"
    )


def test_workers_have_shares_and_servers_none(two_gpus, monkeypatch):
    seen = []
    take = Pool.take

    def noted(pool, **numbers):
        try:
            return take(pool, **numbers)
        finally:
            table = ray.util.placement_group_table(pool._group)
            seen.extend(bundle for _, bundle in sorted(table["bundles"].items()))
            seen.extend(_devices(actor) for actor, _ in pool._actors)

    monkeypatch.setattr(Pool, "take", noted)
    cell = make_cell(cluster={"gpus_per_worker": 0.5})
    with pytest.raises(PlacementError) as error, LiveEngine([cell]):
        pass
    assert str(error.value).startswith(f"torch {torch.__version__} on ")
    assert "sees no GPU, and Ray reserved one there" in str(error.value)
    assert seen[:3] == [{"CPU": 1.0, "GPU": 0.5}] * 2 + [{"CPU": 1.0}]
    first, second, server = seen[3:]
    assert {first, second} <= {"0", "1"}
    assert not server


def _devices(actor):
    """The GPUs that Ray shows a process."""
    asked = actor.__ray_call__.remote(lambda _: os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    return ray.get(asked, timeout=30)


def test_layouts_tell_workers_apart_where_they_have_gpus():
    gpus = {"gpus_per_worker": 0.5}
    assert Layout.of(make_cell(cluster=gpus)) == Layout.of(make_cell(cluster=gpus, strategy="ring"))
    assert Layout.of(make_cell(cluster=gpus)) != Layout.of(make_cell(cluster=gpus, workers=3))
    assert Layout.of(make_cell()) == Layout.of(make_cell(workers=3))
