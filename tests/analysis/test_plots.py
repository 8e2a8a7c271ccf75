"""The plots draw the figures of the run, and need no display."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from psbench.analysis import load
from psbench.analysis.looks import strategy_colors
from psbench.analysis.panels import MAX_ROWS, rows_of_lines
from psbench.errors import ResultsError
from psbench.spec import SHORTHANDS


@pytest.fixture
def run_of(write_run, cell, step_row, trial_row, eval_row):
    """Return a function from strategies and numbers of workers to the results of three repeats."""

    def run(strategies, workers):
        cells = [cell(name, number) for name in strategies for number in workers]
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

    return run


@pytest.fixture
def results(run_of, strategies):
    return run_of(strategies, (1, 2))


def _medians(axes):
    return [line for line in axes.lines if len(line.get_xdata()) == 3]


def test_convergence_draws_medians_against_samples_and_seconds(run_of):
    figure = run_of(("ring", "none"), (1, 2)).plot_convergence()
    by_samples, by_seconds = figure.axes
    assert len(_medians(by_samples)) == 4
    np.testing.assert_allclose(by_samples.lines[0].get_xdata(), [16, 32, 48])
    np.testing.assert_allclose(by_samples.lines[0].get_ydata(), [0.25, 0.45, 0.65])
    np.testing.assert_allclose(by_seconds.lines[0].get_xdata(), [2, 4, 6])
    (band, *_) = by_samples.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.2, 0.7))
    assert "samples" in by_samples.get_xlabel()
    assert "(s)" in by_seconds.get_xlabel()


def test_more_than_eight_lines_are_split_by_variant(results, strategies):
    panels = results.plot_convergence().axes
    assert [len(_medians(axes)) for axes in panels] == [len(strategies)] * 4
    assert [axes.get_title(loc="left") for axes in panels] == ["1 worker", "", "2 workers", ""]
    assert len({axes.get_xlim() for axes in panels[::2]}) == 1


def test_variants_share_a_row_as_long_as_they_fit():
    assert rows_of_lines({"a": 2, "b": 2, "c": 2, "d": 2, "e": 2}) == [["a", "b", "c", "d"], ["e"]]
    assert rows_of_lines({"a": 9, "b": 1}) == [["a"], ["b"]]
    assert rows_of_lines(dict.fromkeys("abcdefg", 1)) == [[*"abcde"], [*"fg"]]


def test_what_finds_no_place_is_counted(run_of):
    figure = run_of(("ring", "tree", "native", "none", "bare"), range(1, 9)).plot_convergence()
    assert len(figure.axes) == 2 * MAX_ROWS
    assert figure.legends[0].get_title().get_text().endswith("; 2 more variants not drawn")


@pytest.mark.parametrize("strategy", ["ring", "ring(bucket=25.0 MiB, overlap, wire=bf16)"])
def test_legends_fit_beside_one_row_and_below_several(write_run, cell, trial_row, strategy):
    cells = [
        cell("ring", workers, id=f"{number:032x}" * 2) | {"strategy": f"{strategy} {number}"}
        for number, workers in enumerate((1, 2) * 9)
    ]
    for number, one in enumerate(cells):
        one["fields"] = one["fields"] | {"reduce": "mean" if number < 9 else "sum"}
    for own in (cells, cells[:4]):
        results = load(write_run(own, [trial_row(one["id"]) for one in own], axes=("reduce",)))
        figure = results.plot_axis("workers", "samples_per_s")
        FigureCanvasAgg(figure).draw()
        wide = figure.bbox.width
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= wide
        panel = figure.axes[0].get_window_extent()
        assert panel.width > 3.4 * figure.dpi, "and leave the panels their room"


def test_nothing_to_draw_is_an_error(write_run, cell):
    results = load(write_run([cell("ring", 2)]))
    with pytest.raises(ResultsError, match="no cell evaluated twice to draw; set eval_every"):
        results.plot_convergence()
    with pytest.raises(ResultsError, match="has no timed step"):
        results.plot_breakdown()


def test_a_strategy_has_one_colour_in_every_plot(results, strategies):
    colors = strategy_colors(strategies)
    assert len(set(colors.values())) == len(strategies)
    lines = _medians(results.plot_convergence().axes[0])
    assert [line.get_color() for line in lines] == [*colors.values()]
    (axes,) = results.plot_breakdown().axes
    assert [label.get_color() for label in axes.get_yticklabels()] == [*colors.values()] * 2


def test_a_well_known_strategy_has_one_colour_in_every_run(strategies):
    every = strategy_colors(strategies)
    assert strategy_colors(["none", "ring"]) == {name: every[name] for name in ("none", "ring")}
    chunked = [f"ring(chunks={chunks})" for chunks in range(1, 9)]
    colors = strategy_colors(["ring", *chunked])
    assert colors["ring"] == every["ring"]
    assert len(set(colors.values())) == 9


def test_every_strategy_has_a_colour_of_its_own_whatever_else_is_drawn():
    colors = strategy_colors(SHORTHANDS)
    assert len(set(colors.values())) == len(SHORTHANDS)
    for name, color in colors.items():
        assert strategy_colors([name, "unheard of"])[name] == color
        assert strategy_colors([name, "unheard of"])["unheard of"] not in colors.values()


def test_bars_add_up_to_the_mean_step(results):
    (axes,) = results.plot_breakdown().axes
    tops = {}
    for bar in axes.patches:
        tops[bar.get_y()] = max(tops.get(bar.get_y(), 0.0), bar.get_x() + bar.get_width())
    assert len(tops) == 16
    # Where there is no synchronisation, or none is seen, the 4 s of it are left to "other".
    assert list(tops.values()) == pytest.approx([10_000.0] * 16)
    assert "(ms)" in axes.get_xlabel()


def test_several_clocks_leave_wait_and_communication_in_one(write_run, cell, step_row, trial_row):
    ring = cell("ring", 2)
    rows = [trial_row(ring["id"], one_clock=False)]
    steps = {(ring["id"], 0): [step_row(0), step_row(1)]}
    (axes,) = load(write_run([ring], rows, steps=steps)).plot_breakdown().axes
    assert [bar.get_width() for bar in axes.patches] == [4000.0, 4000.0, 1000.0, 1000.0]


def test_plots_with_data_are_saved(run_of, tmp_path):
    paths = run_of(("ring",), (1, 2)).save_plots(tmp_path / "plots")
    assert [path.name for path in paths] == ["convergence.png", "breakdown.png", "scaling.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_plots_without_data_are_skipped(write_run, tmp_path, cell, step_row, trial_row):
    payload = cell("ring", 2, target=None)
    steps = {(payload["id"], 0): [step_row(0), step_row(1)]}
    results = load(write_run([payload], [trial_row(payload["id"])], steps=steps))
    assert [path.name for path in results.save_plots(tmp_path)] == ["breakdown.png"]
    empty = load(write_run([payload]))
    assert empty.save_plots(tmp_path / "none") == []


def test_one_evaluation_is_a_dot_beside_curves_and_nothing_alone(
    write_run, tmp_path, cell, trial_row, eval_row
):
    ring, tree, none = (cell(name, 2) for name in ("ring", "tree", "none"))
    trials = [trial_row(one["id"]) for one in (ring, tree, none)]
    alone = [eval_row(ring["id"], step=4), eval_row(tree["id"], step=4)]
    results = load(write_run([ring, tree, none], trials + alone, out=tmp_path / "once"))
    assert "convergence.png" not in [path.name for path in results.save_plots(tmp_path)]
    with pytest.raises(ResultsError, match="evaluated twice"):
        results.plot_convergence()
    rows = [*trials, *alone, eval_row(ring["id"], step=2)]
    figure = load(write_run([ring, tree, none], rows, out=tmp_path / "twice")).plot_convergence()
    curve, dot = figure.axes[0].lines[:2]
    assert (len(curve.get_xdata()), curve.get_marker()) == (2, "None")
    assert (len(dot.get_xdata()), dot.get_marker()) == (1, "o")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ring", "tree"]


def test_a_loss_is_drawn_where_there_is_no_accuracy(write_run, cell, trial_row, eval_row):
    ring = cell("ring", 2, target={"loss": 0.3})
    rows = [trial_row(ring["id"])]
    rows += [eval_row(ring["id"], step=step, accuracy=None) for step in (1, 2)]
    by_samples, _ = load(write_run([ring], rows)).plot_convergence().axes
    np.testing.assert_allclose(by_samples.lines[0].get_ydata(), [1 / 2, 1 / 3])
    assert by_samples.get_ylabel().startswith("loss")


def test_each_kind_of_slowness_has_a_row_of_its_own(write_run, cell, trial_row, eval_row):
    cells = []
    for slow in ([{"rank": 1, "factor": 4.0}], []):
        for strategy in ("ring", "none"):
            one = cell(strategy, 2, id=f"{len(cells)}" * 64)
            one["fields"]["compute"] = {"seconds": "0.02 s", "slow": slow}
            cells.append(one)
    rows = [eval_row(one["id"], step=step) for one in cells for step in (1, 2)]
    rows += [trial_row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, axes=("compute.slow", "strategy")))
    panels = results.plot_convergence("loss").axes
    assert [panel.get_title(loc="left") for panel in panels[::2]] == [
        "compute 20.0 ms, rank 1 4x slower", "compute 20.0 ms",
    ]  # fmt: skip
    assert [len(panel.lines) for panel in panels] == [2] * 4
    np.testing.assert_allclose(panels[1].lines[0].get_xdata(), [2, 4])
    np.testing.assert_allclose(panels[1].lines[0].get_ydata(), [1 / 2, 1 / 3])
    assert panels[0].get_ylabel().startswith("loss")
    assert results.plot_convergence().axes[0].get_ylabel().startswith("accuracy")
