"""The scaling experiment: specs, formulas beside a cut of it, crossovers and the picture."""

import importlib
import math
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from PIL import Image

import psbench
from psbench import Spec

FOLDER = Path(__file__).parents[2] / "experiments" / "scaling"
MODULES = ("figures", "crossovers", "closed_forms", "picture", "tables")


@pytest.fixture
def scaling(monkeypatch):
    """Return the experiment's modules; other experiments have some of the same name."""
    monkeypatch.syspath_prepend(FOLDER)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name in MODULES:
        del sys.modules[name]


@pytest.fixture
def cut(scaling, tmp_path):
    """Return the step times of a cut of all three specs."""
    runs = []
    for name, workers in (("spec", [1, 2, 16, 64]), ("hosts", [8, 16, 64]), ("overlap", [16, 64])):
        spec = Spec.load(FOLDER / f"{name}.yaml", [f"matrix.workers={workers}"])
        psbench.run(spec, out=tmp_path / name)
        runs.append(str(tmp_path / name))
    return scaling.figures.step_times(*runs)


def strategy_of(cell):
    own = cell.strategy
    return own.algorithm if own.kind == "all_reduce" else own.servers


@pytest.mark.parametrize(
    ("name", "strategies", "per_host", "most"),
    [
        ("spec", ["ring", "tree", "double_tree", "halving_doubling", 1, 8, 64, "workers"], 1, 4096),
        ("hosts", ["ring", "hierarchical_rails"], 8, 4096),
        ("overlap", ["ring", "halving_doubling"], 1, 4096),
    ],
)
def test_each_spec_asks_the_same_of_every_strategy(name, strategies, per_host, most):
    spec = Spec.load(FOLDER / f"{name}.yaml")
    cells = spec.cells()
    asked = Counter((strategy_of(cell) or 1, cell.workers) for cell in cells)
    numbers = sorted({workers for _, workers in asked})
    assert asked == {(own, workers): 4 for own in strategies for workers in numbers}
    assert numbers[-1] == most
    assert Counter(
        (cell.task.profile, cell.compute.seconds, cell.network.preset) for cell in cells
    ) == {
        (model, seconds, network): len(cells) // 4
        for model, seconds in (("resnet50", 0.035), ("vgg16", 0.07))
        for network in ("ethernet-25g", "rdma-100g")
    }
    assert {(cell.engine, cell.ranks_per_host, cell.steps, cell.warmup) for cell in cells} == {
        ("simulated", per_host, 3, 1)
    }
    assert {cell.strategy.overlap for cell in cells} == {name == "overlap"}


def test_a_cut_takes_as_long_as_formulas_say_and_is_drawn(scaling, cut, tmp_path):
    exact = {"ring", "halving-doubling", *scaling.figures.SERVERS}
    counted = Counter()
    for one in cut[cut["workers"] > 1].to_dict("records"):
        name, longer = one["strategy"], one["step_s"] - one["compute_s"]
        if name in exact:
            formula = scaling.closed_forms.communication(
                name, one["workers"], one["nbytes"], one["network"]
            )
            # parts are of whole elements, the largest of which decides
            assert longer == pytest.approx(formula, rel=1e-5), one
            counted[name] += 1
        elif name.endswith(scaling.figures.OVERLAPPED):
            assert longer > 0
    assert counted == dict.fromkeys(exact, 3 * 4)

    alone = cut[(cut["workers"] == 1) & (cut["servers"] == 0)]
    assert len(alone) == 4 * 4
    assert list(alone["step_s"]) == pytest.approx(list(alone["compute_s"]))

    scaling.picture.picture(cut, tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as drawn:
        assert drawn.size == (1320, 979)

    table = scaling.tables.compared(cut)
    # the ports of servers and of ranks are busy alike where there are as many of them
    assert "| resnet50 | ethernet-25g | best all-reduce, of 64 servers | 61 | 64 |" in table
    assert "| ring | 1.00000 to 1.00000 |" in scaling.tables.agreement(cut)
    assert len(scaling.tables.communications(cut).splitlines()) == 2 + 10
    assert len(scaling.tables.gains(cut).splitlines()) == 2 + 8


WORKERS = [1, 4, 16, 256, 1024]
LOGS = [0.0, 2.0, 4.0, 8.0, 10.0]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (LOGS, [6.0] * 5, [(64, 6, True)]),
        ([6.0] * 5, LOGS, [(64, 6, False)]),
        (LOGS, [10 - own for own in LOGS], [(32, 5, True)]),
        (LOGS, [11.0] * 5, []),
        (
            [0, 5, 0, 5, 5],
            [1, 1, 1, 1, 1],
            [(4**0.2, 1, True), (4**1.8, 1, False), (4**2.4, 1, True)],
        ),
        ([1, 2, 1, 1, 1], [2, 2, 2, 2, 2], []),  # touches
        ([1, 2, 2, 3, 3], [2, 2, 2, 2, 2], [(16, 2, True)]),  # goes along
        ([math.nan, 0, 2, 4, 4], [3, 3, 3, 3, math.nan], [(64, 3, True)]),
        ([math.nan] * 5, LOGS, []),
    ],
)
def test_lines_cross_where_they_are_equal_on_a_logarithmic_axis(scaling, first, second, expected):
    found = scaling.crossovers.crossings(WORKERS, first, second)
    assert len(found) == len(expected)
    for (at, height, leads), (known_at, known_height, known_leads) in zip(
        found, expected, strict=True
    ):
        assert (at, height) == pytest.approx((known_at, known_height))
        assert leads == known_leads


def test_only_who_overtakes_among_several_workers_is_told(scaling):
    workers = [1, 2, 8, 32]
    shares = pd.DataFrame(
        {
            "ring": [100, 50, 50, 10],
            "tree": [100, 20, 20, 20],
            "double tree": [100, 30, 30, 5],
            "halving-doubling": [100, 40, 40, 40],
            "1 server": [20, 10, 5, 0],  # behind from the first on
            "8 servers": [60, 60, 30, 5],  # loses to the ring
            "64 servers": [60, 60, 60, 20],  # loses to halving-doubling, the best by then
            "a server a worker": [30, 30, 30, 30],
        },
        index=workers,
        dtype=float,
    )
    told = [
        (one.ahead, one.behind, round(one.workers, 6), round(one.height, 6))
        for one in scaling.crossovers.crossovers(shares)
    ]
    best = scaling.crossovers.BEST
    assert told == [
        (best, "8 servers", round(2 * 4 ** (1 / 3), 6), 50.0),
        (best, "64 servers", round(8 * 4 ** (1 / 3), 6), round(50 - 10 / 3, 6)),
        ("a server a worker", "ring", 16.0, 30.0),
        ("tree", "ring", round(8 * 4**0.75, 6), 20.0),
    ]


def test_labels_are_apart_and_as_near_as_can_be(scaling):
    apart = scaling.picture.apart
    assert apart([0.1, 0.5, 0.9], 0.1) == [0.1, 0.5, 0.9]
    assert apart([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    # two that push the third away, and are pushed by it
    assert apart([0.5, 0.5, 0.58], 0.1) == pytest.approx([0.4267, 0.5267, 0.6267], abs=1e-4)
    assert apart([], 0.1) == []


@pytest.mark.parametrize(
    ("number", "shown"), [(4.79, "5"), (61.4, "61"), (665.4, "670"), (2133.3, "2,100")]
)
def test_crossovers_are_told_to_two_digits(scaling, number, shown):
    assert scaling.picture.two_digits(number) == shown
