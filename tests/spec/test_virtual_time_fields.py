"""The fields of virtual time: what a network may be, and what is refused, by field."""

import pytest

from psbench.errors import SpecError
from psbench.spec import Spec, spec_schema
from psbench.trial import Plan

BASE = {
    "name": "virtual",
    "engine": "simulated",
    "network": "ethernet-10g",
    "task": {"payload": "4 MiB"},
    "steps": 5,
    "strategy": "ring",
    "workers": 4,
}
FIGURES = {"bandwidth": "1 Gbit/s", "latency": "20 us"}
MODEL = {
    "task": {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}},
    "batch": {"per_worker": 8},
}


def cell(**changes):
    (one,) = Spec(**BASE | changes).cells()
    return one


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (FIGURES | {"bandwidth": "0 Gbit/s"}, "network.bandwidth: a rate must be above 0"),
        (FIGURES | {"bandwidth": "-1 Gbit/s"}, "network.bandwidth: a rate must be above 0"),
        (FIGURES | {"bandwidth": "10"}, "network.bandwidth: a unit is missing in '10'"),
        (FIGURES | {"bandwidth": "10 us"}, "network.bandwidth: unknown unit 'us'"),
        (FIGURES | {"bandwidth": 10}, "network.bandwidth: expected a rate with its unit"),
        (FIGURES | {"latency": "-1 us"}, "network.latency: a time cannot be negative"),
        (FIGURES | {"overhead": "-1 us"}, "network.overhead: a time cannot be negative"),
        (FIGURES | {"reduce_bandwidth": "0 B/s"}, "network.reduce_bandwidth: a rate must be above"),
        ({"bandwidth": "1 Gbit/s"}, "network.latency: missing; write it, or a preset"),
        ({"latency": "1 us"}, "network.bandwidth: missing; write it, or a preset"),
        ("ethernet", "network: unknown network 'ethernet'; did you mean 'ethernet-1g'?"),
        ({"preset": "x"}, "network: unknown network 'x' (known: ethernet-1g"),
        (10, "network: expected a name (ethernet-1g, "),
        (None, "network: missing: a simulated run must know what lies between ranks"),
        (FIGURES | {"inside": "nv"}, "network.inside: unknown network 'nv'"),
        (FIGURES | {"inside": {"latency": "1 us"}}, "network.inside.bandwidth: missing"),
        (FIGURES | {"hosts_per_group": 0}, "network.hosts_per_group: must be at least 1, got 0"),
        (
            FIGURES | {"hosts_per_group": 2, "oversubscription": 0.5},
            "network.oversubscription: must be at least 1, got 0.5",
        ),
        (FIGURES | {"oversubscription": 2.0}, "network.oversubscription: it is of the uplinks"),
        ({"preset": "pcie", "file": "x.yaml"}, "network.file: a preset is named as well"),
        (FIGURES | {"bandwith": "1 B/s"}, "network: unknown field 'bandwith'; did you mean"),
    ],
)
def test_a_bad_network_is_refused_by_field(network, message):
    with pytest.raises(SpecError) as error:
        cell(network=network)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "live"}, "network: a live run goes over the network that is there"),
        ({"pin": False}, "pin: there are no processes in virtual time; leave it out"),
        ({"device": "cpu"}, "device: there are no processes in virtual time; leave it out"),
        (
            {"cluster": {"gpus_per_worker": 1}},
            "cluster.gpus_per_worker: there are no processes in virtual time; leave it out",
        ),
        (
            {"cluster": {"placement": "pack"}},
            "cluster.placement: there are no processes in virtual time; leave it out",
        ),
        ({"transport": "gloo"}, "transport: nothing carries bytes in virtual time; leave it out"),
        ({"strategy": "native"}, "network: a simulated network has no all-reduce of its own"),
        (MODEL | {"strategy": "ddp"}, "engine: ddp is PyTorch's own way"),
        (MODEL | {"strategy": "bare", "workers": 1}, "engine: bare is PyTorch's own way"),
        (MODEL, "engine: how long computing takes is not measured in virtual time"),
        (
            {"compute": {"seconds": "1 ms", "slow": [{"rank": 4, "factor": 2.0}]}},
            "compute: slow: no rank 4 among 4 workers",
        ),
        ({"compute": {"seconds": "0 s"}}, "compute.seconds: must be greater than 0"),
        (
            {"cluster": {"hosts": 3, "ranks_per_host": 2}},
            "cluster: 4 workers, 2 a host, are on 2 hosts and not on 3",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_by_field(changes, message):
    with pytest.raises(SpecError) as error:
        cell(**changes)
    assert str(error.value).startswith(message)


def test_a_preset_may_be_overridden_and_be_reached_by_a_path():
    spec = Spec(**BASE, matrix={"network.latency": ["1 us", "2 us"], "network.inside": ["nvlink"]})
    first, second = spec.cells()
    for one, latency in ((first, 1e-6), (second, 2e-6)):
        assert (one.network.preset, one.network.latency) == ("ethernet-10g", latency)
        assert one.network.inside.preset == "nvlink"


def topology(**changes):
    from psbench.spec import Trial

    return Plan(trial=Trial(cell=cell(**changes), repeat=0, seed=0)).topology()


def test_figures_are_put_over_a_presets():
    network = {"preset": "ethernet-10g", "bandwidth": "4 Gbit/s", "reduce_bandwidth": "2 GB/s"}
    plain, own = topology(), topology(network=network)
    assert own.between.byte_time == 2e-9
    assert own.between.reduce_time == 5e-10
    assert own.between.latency == plain.between.latency
    assert own.between.overhead == plain.between.overhead
    assert topology(network=FIGURES).between.overhead == 0.0


def test_processes_are_on_hosts_as_the_cluster_says():
    served = {"kind": "parameter_server", "consistency": "synchronous", "servers": 2}
    assert topology().hosts == (0, 1, 2, 3)
    assert topology(cluster={"ranks_per_host": 2}).hosts == (0, 0, 1, 1)
    assert topology(strategy=served).hosts == (0, 1, 2, 3, 4, 5)
    assert topology(strategy=served, cluster={"hosts": 2}).hosts == (0, 0, 1, 1, 2, 3)
    assert topology(strategy=served | {"placement": "colocated"}).hosts == (0, 1, 2, 3, 0, 1)
    together = {"kind": "parameter_server", "consistency": "synchronous", "placement": "colocated"}
    assert topology(strategy=together).hosts == (0, 1, 2, 3, 0, 1, 2, 3)
    groups = topology(network={"preset": "pcie", "hosts_per_group": 2, "oversubscription": 3.0})
    assert groups.groups == (0, 0, 1, 1)
    assert groups.uplink_share == 1.5


def test_a_measured_file_is_a_link(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measured.yaml").write_text(
        "schema_version: 1\ntransport: gloo\nhost: here\nmeasured: '2026-01-01T00:00:00+00:00'\n"
        "link: {latency: 10 us, overhead: 2 us, byte_time: 0.5 ns, reduce_time: 0.1 ns}\n"
        "uncertainty: {latency: 1 us, overhead: 1 us, byte_time: 0.1 ns, reduce_time: 0.1 ns}\n"
    )
    link = topology(network={"file": "measured.yaml", "latency": "15 us"}).between
    assert link.costs() == pytest.approx(
        {"latency": 15e-6, "overhead": 2e-6, "byte_time": 5e-10, "reduce_time": 1e-10}
    )
    with pytest.raises(SpecError, match=r"gone\.yaml"):
        topology(network={"file": "gone.yaml"})


def test_the_schema_knows_names_of_networks():
    network = spec_schema()["properties"]["network"]
    assert "ethernet-25g" in network["anyOf"][0]["enum"]
