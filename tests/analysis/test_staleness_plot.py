"""The histogram of staleness: which pushes count, in which bars, and what is left out."""

import numpy as np
import pytest

from psbench.analysis import load
from psbench.analysis.staleness_plot import MAX_PANELS
from psbench.errors import ResultsError


@pytest.fixture
def stale(write_run, cell, step_row, trial_row):
    """Return a function from the staleness of timed pushes, by strategy and workers, to results."""

    def run(found, status="ok", **changes):
        cells = [cell(*key) for key in found]
        rows = [trial_row(one["id"], status=status) for one in cells]
        steps = {
            (one["id"], 0): [
                step_row(0, 0, staleness=99),
                *(step_row(0, 1 + n, staleness=own, **changes) for n, own in enumerate(values)),
            ]
            for one, values in zip(cells, found.values(), strict=True)
        }
        return load(write_run(cells, rows, steps=steps))

    return run


def _heights(panel):
    return [bar.get_height() for bar in panel.patches]


def _ticks(panel):
    return [tick.get_text() for tick in panel.get_xticklabels()]


def test_bars_are_shares_of_timed_pushes(stale):
    found = {("ps-sync", 2): [0, 0], ("ps-async", 2): [1, 0, 1, 4], ("ring", 2): [-1]}
    figure = stale(found).plot_staleness()
    (panel,) = figure.axes
    assert _heights(panel) == [25.0, 50.0, 0.0, 0.0, 25.0]
    assert [bar.get_x() + bar.get_width() / 2 for bar in panel.patches] == pytest.approx(range(5))
    mean, p95 = (line.get_xdata()[0] for line in panel.lines)
    assert (mean, p95) == (1.5, np.quantile([1, 0, 1, 4], 0.95))
    assert _ticks(panel) == ["0", "1", "2", "3", "4"]
    assert panel.get_title(loc="left") == "ps-async"


def test_what_was_dropped_or_ended_badly_does_not_count(stale):
    for results in (
        stale({("ps-async", 2): [1, 2]}, dropped=1),
        stale({("ps-async", 2): [1, 2]}, status="diverged"),
        stale({("ps-async", 2): [0, 0]}),
        stale({("ring", 2): [-1]}),
        stale({("ps-async", 2): []}),
    ):
        with pytest.raises(ResultsError, match="has no stale push to draw"):
            results.plot_staleness()


def test_cells_that_wait_for_all_are_left_out_and_those_that_need_not_are_not(stale):
    found = {("ps-sync", 4): [0], ("ps-async", 1): [0], ("ps-async", 2): [0], ("ps-async", 3): [1]}
    panels = stale(found).plot_staleness().axes
    assert [panel.texts[0].get_text() for panel in panels] == [
        "2 workers\nmean 0.0, 95 % up to 0, most 0", "3 workers\nmean 1.0, 95 % up to 1, most 1",
    ]  # fmt: skip
    assert [_heights(panel) for panel in panels] == [[100.0, 0.0], [0.0, 100.0]]


def test_a_long_tail_is_one_open_bar(stale):
    values = [0] * 500 + [1] * 300 + [2] * 197 + [50, 60, 70]
    (panel,) = stale({("ps-async", 2): values}).plot_staleness().axes
    assert _heights(panel) == pytest.approx([50.0, 30.0, 19.7, 0.3])
    assert _ticks(panel) == ["0", "1", "2", "≥ 3"]
    assert "most 70" in panel.texts[0].get_text()


def test_wide_staleness_shares_bars(stale):
    values = list(range(100))
    figure = stale({("ps-async", 2): values}).plot_staleness()
    (panel,) = figure.axes
    assert _heights(panel) == [5.0] * 20
    lefts = [bar.get_x() for bar in panel.patches]
    assert lefts[0] == pytest.approx(-0.5 + 0.25)
    assert np.diff(lefts) == pytest.approx([5.0] * 19)
    assert figure.get_supylabel() == "share of pushes (%, 5 versions a bar)"


def test_panels_beyond_the_most_are_counted(stale):
    found = {("ps-async", workers): [1] for workers in range(2, MAX_PANELS + 5)}
    figure = stale(found).plot_staleness()
    assert len(figure.axes) == MAX_PANELS
    assert figure.get_suptitle().endswith("; 3 more cells not drawn")


def test_variants_are_rows_where_that_is_even(write_run, cell, step_row, trial_row):
    lr = "task.optimizer.lr"
    cells = [
        cell("ps-async", 2, lr=own, id=f"{number}" * 64) | {"strategy": name}
        for number, (name, own) in enumerate(
            (name, own) for name in ("ssp:3", "ps-async") for own in (0.1, 0.2)
        )
    ]
    rows = [trial_row(one["id"]) for one in cells]
    steps = {(one["id"], 0): [step_row(0, staleness=1)] for one in cells}
    figure = load(write_run(cells, rows, steps=steps, axes=("strategy", lr))).plot_staleness()
    lines = [panel.texts[0].get_text().split("\n")[0] for panel in figure.axes]
    names = [panel.get_title(loc="left") for panel in figure.axes]
    named = list(zip(names, lines, strict=True))
    assert named == [
        ("ssp:3", "lr 0.1"), ("ps-async", "lr 0.1"), ("ssp:3", "lr 0.2"), ("ps-async", "lr 0.2"),
    ]  # fmt: skip
    grids = {panel.get_gridspec().get_geometry() for panel in figure.axes}
    assert grids == {(2, 2)}


def test_the_picture_is_saved_where_a_push_was_stale(stale, tmp_path):
    saved = stale({("ps-async", 2): [1]}).save_plots(tmp_path / "some")
    assert "staleness.png" in [path.name for path in saved]
    saved = stale({("ps-async", 2): [0]}).save_plots(tmp_path / "none")
    assert "staleness.png" not in [path.name for path in saved]


def test_a_last_bar_of_one_number_is_called_by_it(stale):
    (panel,) = stale({("ps-async", 2): [0] * 200 + [3]}).plot_staleness().axes
    assert _heights(panel)[-1] == pytest.approx(100 / 201)
    (longer,) = stale({("ps-async", 3): [0] * 200 + [1, 2]}).plot_staleness().axes
    assert _ticks(longer)[-1] == "≥ 1"
    (single,) = stale({("ps-async", 4): [0] * 200 + [1]}).plot_staleness().axes
    assert _ticks(single)[-1] == "1"


def test_options_that_do_not_fit_into_a_title_are_written_below(stale, cell, write_run):
    results = stale({("ps-async", 2): [0, 1]})
    label = "ps-async(lr_rule=delay_compensated_adaptive)"
    results.manifest["cells"][0]["strategy"] = label
    (panel,) = results.plot_staleness().axes
    assert panel.get_title(loc="left") == "ps-async"
    assert panel.texts[0].get_text().splitlines()[0] == "lr_rule=delay_compensated_adaptive"
