"""The scaling experiment: its specs, and where one strategy passes another."""

import sys
from pathlib import Path

import pytest

import psbench
from psbench.spec import Spec

FOLDER = Path(__file__).parents[2] / "experiments" / "scaling"


@pytest.fixture
def picture(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import picture

    yield picture
    sys.modules.pop("picture")


def test_one_passes_another_between_two_worlds(picture):
    even = {1: 1.0, 4: 1.0, 16: 1.0, 64: 1.0}
    assert picture.crossing({1: 0.5, 4: 0.5, 16: 2.0, 64: 8.0}, even) == pytest.approx(8.0)
    assert picture.crossing({1: 0.5, 4: 2.0, 16: 0.5, 64: 2.0}, even) == pytest.approx(32.0)
    assert picture.crossing({1: 2.0, 4: 2.0, 16: 2.0, 64: 2.0}, even) is None
    assert picture.crossing({1: 0.5, 4: 0.5, 16: 0.5, 64: 0.5}, even) is None
    assert picture.crossing({1: 1.0, 4: 1.0, 16: 4.0, 64: 9.0}, even) == pytest.approx(4.0)


def test_the_specs_are_what_the_picture_draws(picture, tmp_path):
    flat = Spec.load(FOLDER / "spec.yaml", ["matrix.workers=[1, 4, 16]", "steps=2"])
    hosts = Spec.load(FOLDER / "hosts.yaml", ["matrix.workers=[1, 4, 16]", "steps=2"])
    psbench.run(flat, out=tmp_path / "flat")
    psbench.run(hosts, out=tmp_path / "hosts")
    picture.main(str(tmp_path / "flat"), str(tmp_path / "hosts"), str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    rows = picture.steps(str(tmp_path / "flat"))
    assert set(rows["strategy"]) | {"hierarchical_rails, 8 a host"} == set(picture.LINES)
    assert sorted(set(rows["network"])) == sorted(picture.NETWORKS)
    assert sorted(set(rows["task"])) == sorted(picture.TITLES)
