"""The table and its notes, as people see them."""

import io
import platform

import pytest
from rich.console import Console

from psbench.analysis import load, notes, print_summary


@pytest.fixture
def results(write_run, cell, step_row, trial_row, eval_row, strategies):
    """Return six strategies with two and four workers, three repeats, and a target missed."""
    cells = [cell(name, workers) for name in strategies for workers in (2, 4)]
    rows, steps = [], {}
    for one in cells:
        for repeat in range(3):
            workers = one["workers"]
            rows.append(trial_row(one["id"], repeat, seconds=5.0 + repeat / 10))
            accuracy = 0.95 if workers == 4 else 0.5
            rows.append(eval_row(one["id"], repeat, 4, accuracy=accuracy, seconds=12.34))
            steps[one["id"], repeat] = [
                step_row(
                    rank, step, queue_s=0.5, end_s=100 * step + 10.3 + repeat / 10,
                    staleness=rank if one["servers"] else -1,
                )
                for step in range(4)
                for rank in range(workers)
            ]  # fmt: skip
    return load(write_run(cells, rows, steps=steps, repeats=3))


def _printed(results, width, terminal):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    print_summary(results, console)
    return file.getvalue().splitlines()


def test_each_cell_has_one_line_within_120_columns(results, strategies):
    lines = _printed(results, width=120, terminal=True)
    assert max(len(line.rstrip()) for line in lines) <= 120
    rows = [line for line in lines if line.split()[:1] and line.split()[0] in strategies]
    assert [tuple(row.split()[:2]) for row in rows] == [
        (name, str(workers)) for name in strategies for workers in (2, 4)
    ]
    assert "…" not in "".join(lines)


def test_what_is_piped_is_not_cut(results):
    wide = _printed(results, width=120, terminal=True)
    piped = _printed(results, width=40, terminal=False)
    assert [line.rstrip() for line in piped] == [line.rstrip() for line in wide]


def test_a_missed_target_is_shown_as_later_than_trained(results):
    text = "\n".join(_printed(results, width=120, terminal=True))
    assert "> 12.3 s" in text
    assert any(note.startswith("> time") for note in notes(results))


def test_columns_without_data_are_left_out(write_run, cell, trial_row):
    payload = cell("ring", 2, target=None)
    rows = [trial_row(payload["id"], samples=0)]
    results = load(write_run([payload], rows))
    header = "\n".join(_printed(results, width=120, terminal=True)[:3])
    for word in ("accuracy", "staleness", "target", "samples", "ok"):
        assert word not in header


def test_html_has_the_figures_and_escapes_what_others_wrote(write_run, cell, trial_row):
    ring = cell("ring", 2)
    rows = [trial_row(ring["id"], status="failed", error="<b>gone & lost</b>")]
    text = load(write_run([ring], rows))._repr_html_()
    assert "&lt;b&gt;gone &amp; lost&lt;/b&gt;" in text
    assert "<b>" not in text


def test_notes_name_what_limits_the_comparison(write_run, cell, trial_row, eval_row):
    ring, ps = cell("ring", 2), cell("ps-async", 2)
    hosts = (platform.node(),) * 3  # that of the manifest
    rows = [
        trial_row(ring["id"], 0, status="failed", error="rank 1 died", node_hosts=hosts),
        trial_row(ps["id"], 0, transport="other", one_clock=False, node_hosts=hosts),
        eval_row(ps["id"], 0, accuracy=0.1),
        trial_row(ps["id"], 1),
        eval_row(ps["id"], 1, accuracy=0.99),
    ]
    found = notes(load(write_run([ring, ps], rows, repeats=2, status="interrupted", cores=2)))
    expected = [
        "1 trial has not ended (run interrupted)",
        "failed: ring, 2 workers, repeat 0: rank 1 died",
        "wait, for asynchronous strategies: the time a push lay in the server's queue",
        "> time: the median repeat had not reached the target by then, when it ended",
        "target not reached by 1 of 2: ps-async, 2 workers",
        "2 repeats: too few to tell a difference from noise; ask for 3 or more",
        "up to 3 processes on 2 cores: timings compare but do not scale",
        "transports differ (gloo, other): compare only cells of the same one",
        "some trials ran on several clocks: their wait and communication cannot be told apart",
    ]
    assert found == expected


def test_a_clean_run_has_no_notes(write_run, cell, trial_row, eval_row):
    ring = cell("ring", 2)
    rows = [row for repeat in range(3) for row in (trial_row(ring["id"], repeat),)]
    rows += [eval_row(ring["id"], repeat, accuracy=1.0) for repeat in range(3)]
    assert notes(load(write_run([ring], rows, repeats=3))) == []
