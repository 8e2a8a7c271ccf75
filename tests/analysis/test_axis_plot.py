"""Measures against an axis: which cells make a line, and what is drawn of them."""

import math

import numpy as np
import pytest

from psbench.analysis import load
from psbench.analysis.axis_scales import is_logarithmic
from psbench.analysis.axis_series import axis_series, numeric_axes
from psbench.errors import ResultsError

LR = "task.optimizer.lr"


@pytest.fixture
def swept(write_run, cell, trial_row, eval_row):
    """Return two strategies, 1 to 4 workers and two learning rates, two repeats of each.

    48 samples in 6 s a worker, less 1 s in the second repeat.
    """
    cells = [
        cell(name, workers, lr=lr)
        for name in ("ring", "none") for workers in (1, 2, 4) for lr in (0.1, 0.2)
    ]  # fmt: skip
    rows = []
    for one in cells:
        for repeat in range(2):
            seconds = 6.0 / one["workers"] - repeat
            rows.append(trial_row(one["id"], repeat, seconds=seconds))
            rows.append(eval_row(one["id"], repeat, accuracy=0.6 + 0.1 * repeat))
    return load(write_run(cells, rows, repeats=2, axes=("strategy", "workers", LR)))


def test_cells_that_differ_in_the_axis_alone_make_a_line(swept):
    series = axis_series(swept, "workers", "samples_per_s")
    assert [(one.hue, one.style) for one in series] == [
        ("ring", "lr 0.1"), ("ring", "lr 0.2"), ("none", "lr 0.1"), ("none", "lr 0.2"),
    ]  # fmt: skip
    points = series[0].points
    assert points["x"].tolist() == [1, 2, 4]
    assert points["low"].tolist() == [48 / 6, 48 / 3, 48 / 1.5]
    assert points["high"].tolist() == [48 / 5, 48 / 2, 48 / 0.5]
    assert points["y"].tolist() == pytest.approx([(8 + 9.6) / 2, 20, 64])
    assert not points[["censored", "diverged"]].to_numpy().any()


def test_of_one_strategy_the_variants_have_the_colours(write_run, cell, trial_row):
    cells = [cell("ring", workers, lr=lr) for lr in (0.1, 0.2) for workers in (1, 2)]
    rows = [trial_row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, axes=("workers", LR)))
    series = axis_series(results, "workers", "samples_per_s")
    assert [(one.hue, one.style) for one in series] == [("lr 0.1", "ring"), ("lr 0.2", "ring")]


def test_numbers_that_vary_are_axes(swept, write_run, cell):
    assert numeric_axes(swept.manifest) == ["workers", LR]
    cells = [cell("ring", 2), cell("none", 2)]
    for one, slow in zip(cells, ([], [{"rank": 1, "factor": 4.0}]), strict=True):
        one["fields"] |= {"compute": {"slow": slow}, "reduce": "mean", "overlap": bool(slow)}
    axes = ("strategy.kind", "compute.slow", "reduce", "overlap", "missing.field")
    assert numeric_axes(load(write_run(cells, axes=axes)).manifest) == []


def test_an_axis_that_never_varies_alone_is_no_picture(write_run, cell):
    cells = [cell("ring", workers, lr=0.1 * workers) for workers in (1, 2)]
    manifest = load(write_run(cells, axes=("workers", LR))).manifest
    assert numeric_axes(manifest) == []


def test_options_of_a_strategy_are_an_axis_too(write_run, cell, trial_row):
    cells = [cell("ring", 2) for _ in range(2)] + [cell("none", 2)]
    for one, chunks in zip(cells, (8, 4), strict=False):
        one |= {"strategy": f"ring(chunks={chunks})", "id": f"{chunks}" * 64}
        one["fields"]["strategy"] = one["fields"]["strategy"] | {"chunks": chunks}
    rows = [trial_row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, axes=("strategy.kind", "strategy.chunks")))
    (series,) = axis_series(results, "strategy.chunks", "samples_per_s")
    assert (series.hue, series.points["x"].tolist()) == ("ring", [4, 8])


@pytest.mark.parametrize(
    ("axis", "values", "x", "ticks"),
    [
        ("task.payload", ("1048576 B", "65536 B"), [65536, 1048576], ["64.0 KiB", "1.00 MiB"]),
        ("compute.seconds", ("0.3 s", "0.01 s"), [0.01, 0.3], ["10.0 ms", "300 ms"]),
    ],
)
def test_sizes_and_times_are_axes_with_their_units(
    axis, values, x, ticks, write_run, cell, trial_row
):
    cells = [cell("ring", 2, id=f"{number}" * 64) for number in range(2)]
    parent, name = axis.split(".")
    for one, value in zip(cells, values, strict=True):
        one["fields"] |= {parent: {name: value}}
    results = load(write_run(cells, [trial_row(one["id"]) for one in cells], axes=(axis,)))
    assert numeric_axes(results.manifest) == [axis]
    (series,) = axis_series(results, axis, "samples_per_s")
    assert series.points["x"].tolist() == x
    (panel,) = results.plot_axis(axis).axes
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ticks


def test_buckets_are_an_axis_beside_what_else_a_strategy_says(write_run, cell, trial_row):
    cells = []
    for number, (overlap, kib) in enumerate([(True, 16), (True, 64), (False, 16), (False, 64)]):
        options = f"bucket={kib}.0 KiB" + (", overlap" if overlap else "")
        one = cell("ring", 2, id=f"{number}" * 64) | {"strategy": f"ring({options})"}
        bucket = {"bucket": f"{kib * 1024} B", "overlap": overlap}
        one["fields"]["strategy"] = one["fields"]["strategy"] | bucket
        cells.append(one)
    axes = ("strategy.bucket", "strategy.overlap")
    results = load(write_run(cells, [trial_row(one["id"]) for one in cells], axes=axes))
    assert numeric_axes(results.manifest) == ["strategy.bucket"]
    lines = axis_series(results, "strategy.bucket", "samples_per_s")
    assert [(line.hue, line.points["x"].tolist()) for line in lines] == [
        ("ring(overlap)", [16384, 65536]), ("ring", [16384, 65536]),
    ]  # fmt: skip


def test_the_number_of_a_short_name_is_an_axis_too(write_run, cell, trial_row):
    cells = [cell("ring", 2) for _ in range(2)]
    for one, every in zip(cells, (32, 8), strict=True):
        one |= {"strategy": f"diloco:{every}", "id": f"{every:064}"}
        over = one["fields"]["strategy"]
        one["fields"]["strategy"] = {"kind": "diloco", "every": every, "over": over}
    rows = [trial_row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, axes=("strategy.every",)))
    (series,) = axis_series(results, "strategy.every", "samples_per_s")
    assert (series.hue, series.points["x"].tolist()) == ("diloco", [8, 32])


def test_the_staleness_that_updates_are_given_is_an_axis_too(write_run, cell, trial_row):
    cells = [cell("ring", 2) for _ in range(3)]
    for one, versions in zip(cells, ([8], [0], [0, 8]), strict=True):
        staleness = {"versions": versions, "weights": None}
        said = " or ".join(map(str, versions))
        one |= {"strategy": f"ps-async(staleness={said})", "id": f"{len(said)}{versions[0]:063}"}
        one["fields"]["strategy"] = {
            "kind": "parameter_server",
            "consistency": "asynchronous",
            "staleness": staleness,
        }
    rows = [trial_row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, axes=("strategy.staleness.versions",)))
    assert numeric_axes(results.manifest) == ["strategy.staleness.versions"]
    for axis in ("strategy.staleness.versions", "strategy.staleness"):
        (series,) = axis_series(results, axis, "samples_per_s")
        assert (series.hue, series.points["x"].tolist()) == ("ps-async", [0, 8])


def test_what_is_unknown_is_told_with_what_is_known(swept):
    with pytest.raises(ResultsError, match=r"no axis 'lr' .* workers, .*, task.optimizer.lr"):
        swept.plot_axis("lr")
    with pytest.raises(ResultsError, match=r"no measure 'speed'; there are .*samples_per_s"):
        swept.plot_axis("workers", "speed")


def test_scaling_is_drawn_beside_proportion(swept):
    panels = speed, efficiency, accuracy = swept.plot_axis("workers").axes
    assert [panel.get_ylabel() for panel in panels] == [
        "samples/s, all workers together", "efficiency", "accuracy at the end",
    ]  # fmt: skip
    assert (speed.get_xscale(), speed.get_yscale()) == ("log", "log")
    assert [tick.get_text() for tick in speed.get_xticklabels()] == ["1", "2", "4"]
    drawn = [line.get_ydata() for line in speed.lines]
    np.testing.assert_allclose(drawn[0], [8.8, 20, 64])
    assert any(np.allclose(line, [8.8, 17.6, 35.2]) for line in drawn if len(line) == 3)
    np.testing.assert_allclose(efficiency.lines[0].get_ydata()[0], 1.0)
    np.testing.assert_allclose(accuracy.lines[0].get_ydata(), [0.65, 0.65, 0.65])


def test_colours_are_strategies_and_styles_are_variants(swept):
    figure = swept.plot_axis(LR, "step_s", "samples_per_s")
    solid = [line for line in figure.axes[1].lines if line.get_linestyle() == "-"]
    assert len(solid) == 2
    assert len({line.get_color() for line in solid}) == 2
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "ring", "none", "1 worker", "2 workers", "4 workers",
    ]  # fmt: skip


def test_a_diverged_cell_is_a_cross_at_the_top(write_run, cell, trial_row):
    cells = [cell("ring", 2, lr=lr) for lr in (0.1, 1.0)]
    rows = [trial_row(cells[0]["id"]), trial_row(cells[1]["id"], status="diverged")]
    figure = load(write_run(cells, rows, axes=(LR,))).plot_axis(LR, "samples_per_s")
    (axes,) = figure.axes
    (cross,) = (line for line in axes.lines if line.get_marker() == "x" and len(line.get_xdata()))
    assert cross.get_xdata() == [1.0]
    assert (
        cross.get_transform().transform((1.0, cross.get_ydata()[0]))[1]
        > (axes.transAxes.transform((0, 0.9))[1])
    )
    assert "diverged" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_target_never_reached_is_an_open_mark_at_its_bound(write_run, cell, trial_row, eval_row):
    cells = [cell("ring", 2, lr=lr) for lr in (0.1, 1.0)]
    rows = []
    for one, accuracy in zip(cells, (0.95, 0.5), strict=True):
        rows += [trial_row(one["id"]), eval_row(one["id"], step=3, accuracy=accuracy)]
    results = load(write_run(cells, rows, axes=(LR,)))
    (series,) = axis_series(results, LR, "time_to_target_s")
    assert series.points["y"].tolist() == [6.0, 6.0]
    assert series.points["censored"].tolist() == [False, True]
    (axes,) = results.plot_axis(LR, "time_to_target_s").axes
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    assert [(*line.get_xdata(), line.get_markerfacecolor() == "white") for line in marks] == [
        (0.1, False), (1.0, True),
    ]  # fmt: skip


def test_a_cell_that_only_diverged_has_no_time_to_target(write_run, cell, trial_row, eval_row):
    cells = [cell("ring", 2, lr=lr) for lr in (0.1, 1.0)]
    rows = []
    for one, status in zip(cells, ("ok", "diverged"), strict=True):
        rows += [trial_row(one["id"], status=status), eval_row(one["id"], accuracy=0.5)]
    results = load(write_run(cells, rows, axes=(LR,)))
    (series,) = axis_series(results, LR, "time_to_target_s")
    assert series.points["y"].isna().tolist() == [False, True]
    assert series.points["censored"].tolist() == [True, False]
    assert series.points["diverged"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.01, 0.1, 1.0], True),
        ([1, 2, 4, 8], True),
        ([0.02, 0.05, 0.1, 0.2], True),
        ([1, 20, 31], True),
        ([1, 2, 3], False),
        ([0.0, 0.9], False),
        ([10, 20, 30, 40], False),
        ([5], False),
    ],
)
def test_an_axis_that_grows_by_factors_is_logarithmic(values, expected):
    assert is_logarithmic(values) is expected


def test_pictures_of_all_axes_are_saved(write_run, cell, trial_row, tmp_path):
    cells = [cell("ring", 1, lr=0.1), cell("ring", 2, lr=0.1), cell("ring", 2, lr=0.2)]
    rows = [trial_row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, axes=("workers", LR)))
    names = [path.name for path in results.save_plots(tmp_path / "plots")]
    assert names == ["scaling.png", f"by-{LR}.png"]


def test_a_run_without_a_step_row_has_its_rates(write_run, cell, trial_row):
    cells = [cell("bare", workers) for workers in (1, 2)]
    rows = [trial_row(one["id"], bytes_sent=(), bytes_received=()) for one in cells]
    results = load(write_run(cells, rows))
    assert math.isnan(results.summary()["step_s"][0])
    speed, efficiency = results.plot_axis("workers").axes
    np.testing.assert_allclose(speed.lines[0].get_ydata(), [8.0, 8.0])
    np.testing.assert_allclose(efficiency.lines[0].get_ydata(), [1.0, 0.5])


def test_a_run_without_a_finished_trial_has_nothing_to_draw(write_run, cell):
    cells = [cell("ring", workers) for workers in (1, 2)]
    with pytest.raises(ResultsError, match="has no samples_per_s to draw"):
        load(write_run(cells, axes=("workers",))).plot_axis("workers")
