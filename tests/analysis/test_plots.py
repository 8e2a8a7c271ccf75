"""The plots draw the figures of the run, and need no display."""

import numpy as np
import pytest

from psbench.analysis import load
from psbench.analysis.looks import strategy_colors


@pytest.fixture
def results(write_run, cell, step_row, trial_row, eval_row, strategies):
    cells = [cell(name, workers) for name in strategies for workers in (1, 2)]
    rows, steps = [], {}
    for one in cells:
        for repeat in range(3):
            rows.append(trial_row(one["id"], repeat))
            rows += [
                eval_row(one["id"], repeat, step, accuracy=0.2 * step + 0.05 * repeat)
                for step in (1, 2, 3)
            ]
            steps[one["id"], repeat] = [
                step_row(rank, step, queue_s=1.0)
                for step in (1, 2)
                for rank in range(one["workers"])
            ]
    return load(write_run(cells, rows, steps=steps, repeats=3))


def test_convergence_draws_medians_against_samples_and_seconds(results):
    figure = results.plot_convergence()
    by_samples, by_seconds = figure.axes
    lines = [line for line in by_samples.lines if len(line.get_xdata()) == 3]
    assert len(lines) == 12
    np.testing.assert_allclose(lines[0].get_xdata(), [16, 32, 48])
    np.testing.assert_allclose(lines[0].get_ydata(), [0.25, 0.45, 0.65])
    np.testing.assert_allclose(by_seconds.lines[0].get_xdata(), [2, 4, 6])
    (band, *_) = by_samples.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.2, 0.7))
    assert "samples" in by_samples.get_xlabel()
    assert "(s)" in by_seconds.get_xlabel()


def test_a_strategy_has_one_colour_in_every_plot(results, strategies):
    colors = strategy_colors(results.manifest)
    assert len(set(colors.values())) == len(strategies)
    lines = results.plot_convergence().axes[0].lines
    assert [line.get_color() for line in lines[:12]] == [
        color for color in colors.values() for _ in (1, 2)
    ]
    (axes,) = results.plot_breakdown().axes
    assert [label.get_color() for label in axes.get_yticklabels()] == [*colors.values()] * 2


def test_bars_add_up_to_the_mean_step(results):
    (axes,) = results.plot_breakdown().axes
    tops = {}
    for bar in axes.patches:
        tops[bar.get_y()] = max(tops.get(bar.get_y(), 0.0), bar.get_x() + bar.get_width())
    assert len(tops) == 12
    # Where there is no synchronisation the 4 s of it are left to "other".
    assert list(tops.values()) == pytest.approx([10_000.0] * 12)
    assert "(ms)" in axes.get_xlabel()


def test_several_clocks_leave_wait_and_communication_in_one(write_run, cell, step_row, trial_row):
    ring = cell("ring", 2)
    rows = [trial_row(ring["id"], one_clock=False)]
    steps = {(ring["id"], 0): [step_row(0), step_row(1)]}
    (axes,) = load(write_run([ring], rows, steps=steps)).plot_breakdown().axes
    assert [bar.get_width() for bar in axes.patches] == [4000.0, 4000.0, 1000.0, 1000.0]


def test_plots_with_data_are_saved(results, tmp_path):
    paths = results.save_plots(tmp_path / "plots")
    assert [path.name for path in paths] == ["convergence.png", "breakdown.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_plots_without_data_are_skipped(write_run, tmp_path, cell, step_row, trial_row):
    payload = cell("ring", 2, target=None)
    steps = {(payload["id"], 0): [step_row(0), step_row(1)]}
    results = load(write_run([payload], [trial_row(payload["id"])], steps=steps))
    assert [path.name for path in results.save_plots(tmp_path)] == ["breakdown.png"]
    empty = load(write_run([payload]))
    assert empty.save_plots(tmp_path / "none") == []


def test_a_loss_is_drawn_where_there_is_no_accuracy(write_run, cell, trial_row, eval_row):
    ring = cell("ring", 2, target={"loss": 0.3})
    rows = [trial_row(ring["id"])]
    rows += [eval_row(ring["id"], step=step, accuracy=None) for step in (1, 2)]
    by_samples, _ = load(write_run([ring], rows)).plot_convergence().axes
    np.testing.assert_allclose(by_samples.lines[0].get_ydata(), [1 / 2, 1 / 3])
    assert by_samples.get_ylabel().startswith("loss")
