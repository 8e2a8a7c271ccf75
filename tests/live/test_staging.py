"""Vectors that go by way of others: here two in host memory stand for a GPU's and its stand-in."""

import pytest
import torch

from psbench.live.computing import Computing
from psbench.live.device import Device
from psbench.live.staging import Carried, carried_by
from psbench.spec import Spec

TASK = {
    "model": "digits_mlp",
    "dtype": "float64",
    "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9},
}


def make_cell(strategy, transport, **fields):
    (cell,) = Spec(
        name="staging",
        task=TASK,
        batch={"global": 30},
        steps=4,
        eval_every=2,
        workers=3,
        strategy=strategy,
        transport=transport,
        **fields,
    ).cells()
    return cell


def test_values_go_out_and_come_back_where_they_are_told_to():
    vector, host = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3)
    carried = Carried(vector[1:], host[:2])
    assert carried.vector.data_ptr() == host.data_ptr()
    carried.take_out()
    assert host.tolist() == [2.0, 3.0, 0.0]
    host.mul_(10)
    assert vector.tolist() == [1.0, 2.0, 3.0]
    carried.bring_back()
    assert vector.tolist() == [1.0, 20.0, 30.0]
    carried.close()
    carried.close()


def test_host_memory_is_carried_as_it_is(connect):
    for transport in ("gloo", "shared_memory"):
        (own,) = connect(1, transport)
        vector = torch.ones(3)
        carried = carried_by(own, vector)
        assert carried.vector is vector
        carried.take_out()
        carried.bring_back()
        assert vector.tolist() == [1.0] * 3


STRATEGIES = {
    "ring": "ring",
    "buckets": {"kind": "all_reduce", "algorithm": "tree", "bucket": "16 KiB", "overlap": True},
    "rounded": {"kind": "all_reduce", "algorithm": "ring", "wire_dtype": "bf16"},
    "native": "native",
    "ps-sync": "ps-sync",
}


@pytest.mark.parametrize(
    ("name", "transport"),
    [(name, "gloo") for name in STRATEGIES]
    + [(name, "shared_memory") for name in STRATEGIES if name != "native"],
)
def test_a_way_round_changes_no_bit(name, transport, run_trial, monkeypatch):
    cell = make_cell(STRATEGIES[name], transport)
    straight = run_trial(cell)
    ways = []

    def by_another(transport, vector):
        ways.append(Carried(vector, transport.allocate(vector.numel(), dtype=vector.dtype)))
        return ways[-1]

    monkeypatch.setattr("psbench.live.interpreter.carried_by", by_another)
    round_about = run_trial(cell)
    assert len(ways) >= 3
    assert all(way.vector.any() for way in ways)
    assert round_about.losses() == straight.losses()
    for rank in range(3):
        if name == "ps-sync":  # a server sends what it has, and each worker takes it home
            assert torch.equal(round_about.parameters(rank), straight.parameters(rank))
        assert torch.equal(round_about.parameters(rank), round_about.parameters(0))
        assert torch.equal(round_about.parameters(rank), straight.parameters(rank))


class Marked(Device):
    """A device that says when somebody waits for what was queued on it."""

    def __init__(self):
        super().__init__()
        self.made = 0
        self.awaited = []

    def mark(self):
        self.made += 1
        number, awaited = self.made, self.awaited

        class Mark:
            def synchronize(self):
                awaited.append(number)

        return Mark()


def test_who_waits_for_gradients_waits_for_the_device_to_have_come_as_far():
    device = Marked()
    computing = Computing(None, device)

    def compute(progress):
        for start in (20, 10, 0):
            progress(start)
        return 5

    computing.run(compute)
    assert (device.made, device.awaited) == (3, [])  # who computes goes on at once
    computing.wait_for(10)
    computing.finish()
    assert device.awaited == [3]
    assert computing.samples == 5
