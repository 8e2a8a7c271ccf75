"""Hosts on a cluster of two Ray nodes, both on this machine: each node stands for one."""

import os
import signal
import time
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from psbench.errors import PlacementError
from psbench.live.engine import LiveEngine
from psbench.live.transports import MIXED
from psbench.results import TrialRow
from psbench.spec import Spec, Trial, cell_id

MODEL = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
LEARNING = {"task": MODEL, "batch": {"global": 32}, "steps": 6}


def make_cell(workers, **fields):
    base = {"name": "nodes", "task": {"payload": "4 kB"}, "steps": 3, "strategy": "ring"}
    (cell,) = Spec(**base | fields, workers=workers).cells()
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


def outputs(cell, engine):
    """What a trial yields; its summary comes last."""
    trial = Trial(cell=cell, repeat=0, seed=0)
    yield from engine.run(trial, cell_id=cell_id(cell), attempt=1, stop=lambda: False)


def run(cell, engine):
    """Run a trial that goes well -> (its losses, the transport)."""
    *earlier, summary = outputs(cell, engine)
    assert summary.status == "ok", summary.error
    batches = (output for output in earlier if isinstance(output, list))
    losses = {(row.rank, row.step): row.loss for batch in batches for row in batch}
    return losses, summary.transport


def nodes_of(cell, engine):
    """The Ray node of each process, and the transport, after a trial that went well."""
    _, transport = run(cell, engine)
    pool = engine._pool_for(cell)
    where = ray.util.placement_group_table(pool._group)["bundles_to_node_id"]
    return [where[bundle] for bundle in pool._bundle_of[: cell.processes]], transport


def test_hosts_are_nodes_where_there_are_as_many(two_nodes):
    hosts = make_cell(4, cluster={"ranks_per_host": 2})
    emulated = make_cell(2, cluster={"ranks_per_host": 1, "placement": "pack"})
    stored = make_cell(
        4, task={"payload": "1 MB"}, cluster={"ranks_per_host": 2}, transport="object_store"
    )
    with LiveEngine([hosts, stored, emulated]) as engine:
        (a, b, c, d), transport = nodes_of(hosts, engine)
        assert a == b != c == d
        assert transport == MIXED
        nodes, transport = nodes_of(stored, engine)
        assert nodes == [a, b, c, d], "the store carries between nodes"
        assert transport == "object_store"
        nodes, transport = nodes_of(emulated, engine)
        assert len(set(nodes)) == 1
        assert transport == "shared_memory"
    assert ray.is_initialized(), "the cluster is not the engine's to end"


def test_a_host_that_is_larger_than_any_node_is_refused(two_nodes):
    with (
        pytest.raises(PlacementError, match=r"3 CPUs on one host.*largest node has 2"),
        LiveEngine([make_cell(3, cluster={"ranks_per_host": 3})]),
    ):
        pass


@pytest.fixture(scope="module")
def engine(two_nodes):
    with LiveEngine([make_cell(4)]) as made:
        yield made


@pytest.mark.parametrize(("strategy", "workers"), [("ring", 4), ("ps-sync", 3)])
def test_auto_is_shared_memory_on_a_node_and_gloo_between_with_the_losses_of_gloo(
    strategy, workers, engine
):
    auto = make_cell(workers, strategy=strategy, **LEARNING)
    losses, transport = run(auto, engine)
    assert transport == MIXED
    expected = run(make_cell(workers, strategy=strategy, transport="gloo", **LEARNING), engine)
    assert (losses, "gloo") == expected
    assert len(set(losses.values())) > 1


def test_the_all_reduce_of_the_backend_takes_gloo(engine):
    assert run(make_cell(4, strategy="native"), engine)[1] == "gloo"


def test_shared_memory_alone_is_refused_on_two_nodes(engine):
    *_, summary = outputs(make_cell(4, transport="shared_memory"), engine)
    assert summary.status == "failed"
    assert "needs all processes on one host, and they are on 2 Ray nodes" in summary.error


def is_there(pid):
    """Whether a process lives; a zombie has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def test_a_killed_worker_is_named_and_nothing_is_left(engine):
    cell = make_cell(3, strategy="ps-async", steps=1_000_000)
    pids, summary = [], None
    for output in outputs(cell, engine):
        if isinstance(output, TrialRow):
            summary = output
        elif output and not pids:
            pids = [host.pid for _, host in engine._pool._actors]
            os.kill(pids[1], signal.SIGKILL)
    assert summary.status == "failed"
    assert summary.transport == MIXED
    assert summary.error.startswith("rank 1 (pid ")
    assert summary.error.endswith("died")
    deadline = time.monotonic() + 30
    while any(map(is_there, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in pids if is_there(pid)]
