"""What a plan says of a trial's computing, for either engine."""

import pytest

from psbench.network import PROFILES
from psbench.spec import Cell, Trial
from psbench.trial import Plan


def plan(task, **fields):
    cell = Cell(
        task=task, compute={"seconds": "1 s"}, workers=1, steps=1, strategy="ring", **fields
    )
    return Plan(trial=Trial(cell=cell, repeat=0, seed=0))


@pytest.mark.parametrize(("start", "known"), [(100, 0.0), (75, 0.25), (1, 0.99), (0, 1.0)])
def test_a_payload_is_known_at_an_even_pace_over_the_backward_pass(start, known):
    own = plan({"payload": "400 B"})
    assert own.share_computed(start, 100) == pytest.approx(1 / 3 + 2 / 3 * known)


def test_nothing_is_known_at_the_end():
    assert plan({"payload": "0 B"}).share_computed(0, 0) == 1.0


def test_a_profile_is_known_as_its_layers_are():
    own, vgg16 = plan({"profile": "vgg16"}, batch={"per_worker": 1}), PROFILES["vgg16"]
    numel = vgg16.parameters
    for start in (0, 10**6, numel // 2, numel - 1):
        assert own.share_computed(start, numel) == vgg16.share_computed(start, numel)
    # half of its elements are in one layer near the end
    assert own.share_computed(numel // 2, numel) < 0.4
