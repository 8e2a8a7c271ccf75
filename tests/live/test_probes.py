"""Measuring a link over real transports, and what `algorithm: auto` makes of it."""

import pytest
import torch

from psbench.errors import PlacementError
from psbench.live.auto import ASSUMED, ON_ONE_HOST, network_file, network_from, pick
from psbench.live.bench.probes import probe_link
from psbench.live.picks import measure_networks, picked
from psbench.network import Link, Network, Timing, fit_link
from psbench.schedules import ALGORITHMS, COSTS
from psbench.spec import Spec
from psbench.training import build_learner, vector_nbytes
from psbench.trial import Pick


@pytest.mark.parametrize("transport", ["gloo", "shared_memory"])
def test_a_link_is_measured_by_its_first_two_ranks(connect, everywhere, transport):
    told = everywhere(connect(3, transport), probe_link)
    assert told[1:] == [[], []]
    assert {one.kind for one in told[0]} == {"one_way", "train", "reduction"}
    assert min(one.seconds for one in told[0]) > 0
    fit = fit_link(told[0])
    assert fit.link.overhead + fit.link.latency > 0
    assert 0 < fit.link.byte_time < 1e-6
    assert 0 < fit.link.reduce_time < 1e-7


def cell_of(**fields):
    base = {"name": "x", "task": {"payload": "64 KiB"}, "steps": 1, "workers": 2}
    return Spec(**base | {"strategy": "auto"} | fields).cells()[0]


def timed(algorithm, workers, nbytes, seconds):
    return Timing(algorithm=algorithm, workers=workers, nbytes=nbytes, seconds=seconds)


LINK = Link(latency=1e-5, overhead=1e-6, byte_time=1e-9, reduce_time=1e-10)
TIMINGS = tuple(
    timed(name, 2, nbytes, seconds)
    for name, small, large in (("tree", 1e-5, 1e-2), ("ring", 2e-5, 1e-3))
    for nbytes, seconds in ((1024, small), (2**20, large))
)
NETWORK = Network(transport="gloo", link=LINK, uncertainty=LINK, timings=TIMINGS)


def test_auto_is_the_fastest_for_the_length_of_the_vector():
    assert pick(NETWORK, workers=2, nbytes=1024) == "tree"
    assert pick(NETWORK, workers=2, nbytes=2**20) == "ring"
    networks = {"gloo": NETWORK}
    assert picked(cell_of(task={"payload": "1 MiB"}), "gloo", networks).algorithm == "ring"
    assert picked(cell_of(task={"payload": "1 KiB"}), "gloo", networks).algorithm == "tree"
    assert picked(cell_of(strategy="tree"), "gloo", {}) == Pick()
    assert picked(cell_of(strategy="ps-sync"), "gloo", {}) == Pick()
    assert picked(cell_of(workers=1), "gloo", {}).algorithm in ALGORITHMS
    with pytest.raises(PlacementError, match="a network of shared_memory, and none was measured"):
        picked(cell_of(), "shared_memory", networks)


@pytest.mark.parametrize("name", ["tree", "double_tree"])
def test_automatic_chunks_are_those_of_the_least_cost(name):
    strategy = {"kind": "all_reduce", "algorithm": name, "chunks": "auto"}
    cell = cell_of(strategy=strategy, task={"payload": "1 MiB"}, workers=8)
    found = picked(cell, "gloo", {"gloo": NETWORK})
    assert found.algorithm is None
    costs = {c: COSTS[name](8, 2**20, num_chunks=c, **LINK.costs()) for c in range(1, 400)}
    assert costs[found.chunks] == min(costs.values())
    assert 10 < found.chunks < 200
    alone = cell_of(strategy=strategy, workers=1)
    assert picked(alone, "gloo", {}) == Pick(chunks=1)


def test_what_is_known_or_not_needed_is_not_measured():
    def never(cell):
        raise AssertionError("nothing is to be measured")

    cells = [cell_of(transport="gloo"), cell_of(workers=1), cell_of(strategy="ring")]
    assert measure_networks(cells, {"gloo": NETWORK}, never) == {"gloo": NETWORK}
    assert measure_networks(cells[1:], {}, never) == {}


def test_a_network_goes_through_its_file_and_back():
    back = network_from(network_file(NETWORK))
    assert back == NETWORK
    file = network_file(NETWORK)
    written = type(file).model_validate(file.model_dump(mode="json"))
    read = network_from(written)
    assert read.link.latency == pytest.approx(LINK.latency, rel=1e-3)
    assert read.timings[0].seconds == pytest.approx(1e-5, rel=1e-3)
    assert (read.timings[0].algorithm, read.timings[0].nbytes) == ("tree", 1024)


def test_without_measurements_the_formulas_alone_decide():
    assert list(ASSUMED.predict(COSTS, workers=8, nbytes=64 * 2**20))[-1] == "star"
    assert set(ON_ONE_HOST) <= set(ALGORITHMS)
    assert "ring" in ON_ONE_HOST


@pytest.mark.parametrize(
    "task",
    [
        {"payload": "1000 B"},
        {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}, "dtype": "float64"},
    ],
)
def test_the_length_of_a_vector_is_known_before_any_learner_is(task):
    batch = {} if "payload" in task else {"batch": {"per_worker": 4}}
    cell = cell_of(task=task, **batch)
    learner = build_learner(cell, seed=0, repeat=0, rank=0, allocate=torch.zeros)
    assert vector_nbytes(cell) == learner.gradients.nbytes
