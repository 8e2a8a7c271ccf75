"""Logical hosts on a cluster of two Ray nodes, both on this machine."""

import pytest
import ray
from ray.cluster_utils import Cluster

from psbench.errors import PlacementError
from psbench.live.engine import LiveEngine
from psbench.spec import Spec, Trial, cell_id


def make_cell(workers, payload="4 kB", **fields):
    (cell,) = Spec(
        name="nodes", task={"payload": payload}, steps=3, strategy="ring", workers=workers, **fields
    ).cells()
    return cell


@pytest.fixture(scope="module")
def two_nodes():
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def nodes_of(cell, engine):
    """The Ray node of each process, after a trial that went well."""
    trial = Trial(cell=cell, repeat=0, seed=0)
    *_, summary = engine.run(trial, cell_id=cell_id(cell), attempt=1, stop=lambda: False)
    assert summary.status == "ok", summary.error
    pool = engine._pool_for(cell)
    where = ray.util.placement_group_table(pool._group)["bundles_to_node_id"]
    return [where[bundle] for bundle in pool._bundle_of[: cell.processes]]


def test_hosts_are_nodes_where_there_are_as_many(two_nodes):
    hosts = make_cell(4, cluster={"ranks_per_host": 2})
    emulated = make_cell(2, cluster={"ranks_per_host": 1, "placement": "pack"})
    stored = make_cell(4, "1 MB", cluster={"ranks_per_host": 2}, transport="object_store")
    with LiveEngine([hosts, stored, emulated]) as engine:
        a, b, c, d = nodes_of(hosts, engine)
        assert a == b != c == d
        assert nodes_of(stored, engine) == [a, b, c, d], "the store carries between nodes"
        assert len(set(nodes_of(emulated, engine))) == 1
    assert ray.is_initialized(), "the cluster is not the engine's to end"


def test_a_host_that_is_larger_than_any_node_is_refused(two_nodes):
    with (
        pytest.raises(PlacementError, match=r"3 CPUs on one host.*largest node has 2"),
        LiveEngine([make_cell(3, cluster={"ranks_per_host": 3})]),
    ):
        pass
