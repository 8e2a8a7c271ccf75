"""What is read of trials in virtual time, and of runs in which live ones are beside them."""

import io
import platform

import numpy as np
import pytest
from rich.console import Console

from psbench.analysis import load, notes, print_summary, summary_records
from psbench.analysis.cells import logical_hosts

LIVE_AND_NOT = (
    "live cells were measured, simulated ones are in virtual time: where they differ, the spec's "
    "network and compute are not the machine's"
)
BUSY = "server busy, in virtual time: its port one way, or updates, whichever is more"


@pytest.fixture
def virtual(cell):
    """Return a function as `cell`, whose cells are in virtual time and have no target."""

    def make(*arguments, **changes):
        one = cell(*arguments, target=None, engine="simulated", **changes)
        one["fields"] = one["fields"] | {"engine": "simulated"}
        one["id"] = one["id"][::-1]
        return one

    return make


@pytest.fixture
def row(trial_row):
    """Return a function as `trial_row`, of trials in virtual time."""

    def make(*arguments, **changes):
        hosts = ("host 0", "host 1", "host 2")
        return trial_row(
            *arguments, **{"transport": "simulated", "node_hosts": hosts, "samples": 0} | changes
        )

    return make


def _printed(results):
    file = io.StringIO()
    print_summary(results, Console(file=file, width=200, color_system=None))
    return file.getvalue().splitlines()


def test_the_title_says_that_time_is_virtual_and_no_column_that_nothing_carries(
    write_run, virtual, row
):
    cells = [virtual(name, workers) for name in ("ring", "tree") for workers in (2, 4)]
    title, header, *_ = _printed(load(write_run(cells, [row(one["id"]) for one in cells])))
    assert title == "quickstart: in virtual time, medians over 1 repeat, warm-up left out"
    assert "transport" not in header
    title, *_ = _printed(load(write_run(cells[:1], [row(cells[0]["id"])])))
    assert title.startswith("quickstart: 2 workers in virtual time, medians over 1 repeat")


def test_nothing_is_said_of_machines_where_there_are_no_processes(
    write_run, virtual, row, step_row
):
    one = virtual("ps-sync", 4)
    one["fields"]["task"] = {"model": "digits_cnn"}
    one["fields"] |= {"cluster": {"hosts": 4}, "compute": {"seconds": "2.0 s"}}
    one["fields"]["strategy"] = one["fields"]["strategy"] | {"placement": "colocated"}
    here = (platform.node(),) * 5  # what a live trial would be told of
    unlike = {"node_hosts": here, "pinned_cores": ("0", "")}
    rows = [row(one["id"], 0, **unlike), *(row(one["id"], number, **unlike) for number in (1, 2))]
    steps = {(one["id"], 0): [step_row(0), step_row(0, 2)]}
    results = load(write_run([one], rows, steps=steps, repeats=3, cores=2))
    assert notes(results) == [BUSY]
    one["fields"]["cluster"] = None
    assert notes(load(write_run([one], rows, repeats=3))) == [BUSY]


def test_repeats_are_too_few_only_where_something_is_drawn(write_run, virtual, row):
    one = virtual("ring", 4)
    one["fields"] |= {"task": {"payload": "4 B"}, "compute": {"seconds": "2.0 s"}}
    assert notes(load(write_run([one], [row(one["id"])]))) == []
    one["fields"]["compute"]["jitter"] = 0.5
    (few,) = notes(load(write_run([one], [row(one["id"])])))
    assert few.startswith("1 repeat: too few")


def test_each_worker_has_a_host_of_its_own(virtual):
    one = virtual("ps-sync", 4)
    assert logical_hosts(one) == 4 + 1
    one["fields"]["cluster"] = {"ranks_per_host": 2}
    assert logical_hosts(one) == 2 + 1
    one["fields"] |= {"cluster": None, "strategy": {"placement": "colocated"}}
    assert logical_hosts(one) == 4


def test_a_server_is_as_busy_as_the_busiest_of_what_goes_on_side_by_side(
    write_run, cell, virtual, row, trial_row
):
    times = {
        "seconds": 10.0,
        "server_receiving_s": (8.0, 3.0),
        "server_applying_s": (1.0, 5.0),
        "server_sending_s": (6.0, 6.5),
    }
    live, not_live = cell("ps-sync", 2, target=None), virtual("ps-sync", 2)
    rows = [trial_row(live["id"], **times), row(not_live["id"], **times)]
    results = load(write_run([live, not_live], rows, axes=("engine",)))
    live_row, virtual_row = summary_records(results)
    shares = [f"server_{name}_share" for name in ("receiving", "applying", "sending")]
    assert [live_row[name] for name in shares] == [0.8, 0.1, 0.6], "the greatest sum"
    assert [virtual_row[name] for name in shares] == [0.8, 0.1, 0.6], "the greatest of all"
    lines = [line.split() for line in _printed(results) if line.startswith("ps-sync")]
    assert [line[-1] for line in lines] == ["150", "80.0"]
    assert BUSY in notes(results)
    rows[1] = row(not_live["id"], **times | {"server_applying_s": (1.0, 9.0)})
    _, virtual_row = summary_records(load(write_run([live, not_live], rows, axes=("engine",))))
    assert [virtual_row[name] for name in shares] == [0.3, 0.9, 0.65]


@pytest.fixture
def both(write_run, cell, virtual, row, trial_row, step_row, eval_row):
    """Return the results of two strategies, 1 and 2 workers, on both engines, three repeats."""
    cells = [
        make(name, workers)
        for make in (cell, virtual)
        for name in ("ring", "ps-async")
        for workers in (1, 2)
    ]
    rows, steps = [], {}
    for one in cells:
        is_live = one["engine"] == "live"
        one["fields"] |= {"engine": one["engine"]}
        one["fields"]["network"] = None if is_live else {"preset": "ethernet-10g"}
        for repeat in range(3):
            rows.append((trial_row if is_live else row)(one["id"], repeat, samples=48))
            rows += [eval_row(one["id"], repeat, step) for step in (1, 2)]
            steps[one["id"], repeat] = [
                step_row(rank, step, staleness=rank if one["servers"] else -1)
                for step in (1, 2)
                for rank in range(one["workers"])
            ]
    axes = ("strategy", "workers", "engine", "network.preset")
    return load(write_run(cells, rows, steps=steps, repeats=3, axes=axes))


def test_live_cells_and_simulated_ones_are_told_apart(both):
    title, _, header, _, *lines = _printed(both)
    assert title.startswith("quickstart: live over gloo and in virtual time, medians over 3")
    assert header.split()[:3] == ["strategy", "workers", "engine"]
    assert {"transport", "network"}.isdisjoint(header.split())
    told = [line.split()[:3] for line in lines if line[:4] in ("ring", "ps-a")]
    assert told == [
        [name, workers, engine]
        for engine in ("live", "simulated")
        for name in ("ring", "ps-async")
        for workers in ("1", "2")
    ]
    assert LIVE_AND_NOT in notes(both)
    assert not [note for note in notes(both) if "transports differ" in note]


def test_live_transports_that_differ_have_their_column_beside_virtual_time(
    write_run, cell, virtual, row, trial_row
):
    cells = [cell("ring", 2), cell("tree", 2, transport="nccl"), virtual("ring", 2)]
    for one in cells:
        one["fields"] = one["fields"] | {"engine": one["engine"]}
    rows = [
        trial_row(cells[0]["id"]),
        trial_row(cells[1]["id"], transport="nccl", device="cuda"),
        row(cells[2]["id"]),
    ]
    results = load(write_run(cells, rows, axes=("strategy", "engine")))
    title, *lines = _printed(results)
    assert title.startswith("quickstart: 2 workers live and in virtual time, medians")
    told = [line.split()[:4] for line in lines if line[:4] in ("ring", "tree")]
    assert told == [
        ["ring", "live", "gloo", "(auto)"],
        ["tree", "live", "nccl", *told[1][3:]],
        ["ring", "simulated", "-", *told[2][3:]],
    ]
    found = "\n".join(notes(results))
    assert "transports differ (gloo, nccl)" in found
    assert "devices differ (cpu, cuda)" in found


def test_every_frame_of_both_engines_has_its_engine(both):
    for frame in (both.trials, both.steps, both.evals, both.summary()):
        assert set(frame["engine"]) == {"live", "simulated"}


def test_pictures_say_that_time_is_virtual(write_run, virtual, row, step_row, eval_row, both):
    cells = [virtual("ps-async", workers) for workers in (1, 2)]
    rows = [made for one in cells for made in (row(one["id"]), eval_row(one["id"]))]
    rows += [eval_row(one["id"], step=2) for one in cells]
    steps = {(one["id"], 0): [step_row(0, staleness=1), step_row(1)] for one in cells}
    results = load(write_run(cells, rows, steps=steps))
    assert _titles(results) == [
        "Convergence in virtual time: higher and further left is better",
        "Where a step's time goes in virtual time: shorter is faster",
        "How stale gradients were in virtual time: further left is fresher",
        "Scaling in virtual time, ps-async",
    ]
    assert [title for title in _titles(both) if "virtual" in title] == []


def _titles(results):
    figures = (
        results.plot_convergence(),
        results.plot_breakdown(),
        results.plot_staleness(),
        results.plot_axis("workers"),
    )
    return [figure.get_suptitle() for figure in figures]


def test_lines_and_bars_are_live_or_simulated(both):
    (legend,) = both.plot_axis("workers").legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[:2] == ["ring", "ps-async"]
    assert texts[-2:] == ["live", "simulated"]
    (axes,) = both.plot_breakdown().axes
    groups = [text.get_text() for text in axes.texts if "worker" in text.get_text()]
    assert groups == [
        "1 worker, live", "2 workers, live", "1 worker, simulated", "2 workers, simulated",
    ]  # fmt: skip


def _of_steps(write_run, virtual, row, step_row, seconds):
    """Return the results of rings with 1, 2, ... workers, whose steps take these seconds."""
    cells = [virtual("ring", 2**number) for number in range(len(seconds))]
    steps = {
        (one["id"], 0): [
            step_row(
                rank, begin_s=0.0, compute_s=0.0, enter_s=0.0, exit_s=own, end_s=own, update_s=0.0
            )
            for rank in range(one["workers"])
        ]
        for one, own in zip(cells, seconds, strict=True)
    }
    return load(write_run(cells, [row(one["id"]) for one in cells], steps=steps))


def test_a_step_that_takes_no_time_is_told_of_where_a_scale_has_no_place_for_it(
    write_run, virtual, row, step_row
):
    results = _of_steps(write_run, virtual, row, step_row, (0.0, 6e-5, 2.0))
    figure = results.plot_axis("workers")
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.0, 6e-5, 2.0])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[-1] == "no time at all\nis not drawn"
    shown = axes.yaxis.get_major_formatter()
    assert [shown(value, None) for value in (5e-5, 0.0002, 2.0)] == ["0.00005", "0.0002", "2"]
    near = _of_steps(write_run, virtual, row, step_row, (0.0, 1.0, 2.0)).plot_axis("workers")
    assert near.axes[0].get_yscale() == "linear"
    assert "no time" not in near.legends[0].get_texts()[-1].get_text()


def test_a_legend_has_the_parts_that_bars_show_and_long_bars_no_exponent(
    write_run, virtual, row, step_row
):
    figure = _of_steps(write_run, virtual, row, step_row, (0.5, 17.643)).plot_breakdown()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["communication"]
    (axes,) = figure.axes
    ends = [text.get_text() for text in axes.texts if text.get_text().endswith("ms")]
    assert ends == ["500 ms", "17,643 ms"]


def test_rates_are_an_axis_whose_ticks_do_not_touch(write_run, virtual, row, step_row):
    rates = {"1.00 Gbit/s": 125e6, "10.0 Gbit/s": 1250e6, "": 1562.5e6, "100 Gbit/s": 12500e6}
    cells = [virtual("ring", 2) | {"id": f"{number}" * 64} for number in range(4)]
    for one, rate in zip(cells, rates.values(), strict=True):
        network = {"bandwidth": f"{rate} B/s", "latency": "2e-05 s"}
        one["fields"] = one["fields"] | {"network": network}
    steps = {(one["id"], 0): [step_row()] for one in cells}
    rows = [row(one["id"]) for one in cells]
    results = load(write_run(cells, rows, steps=steps, axes=("network.bandwidth",)))
    (axes,) = results.plot_axis("network.bandwidth").axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == list(rates)
    assert list(axes.get_xticks()) == list(rates.values())


def test_a_title_that_is_wider_than_its_picture_goes_on_below(write_run, virtual, row, step_row):
    cells = [virtual(name, workers) for workers in range(2, 9) for name in ("ps-async", "ps-sync")]
    steps = {(one["id"], 0): [step_row(0, staleness=1), step_row(1)] for one in cells}
    rows = [row(one["id"]) for one in cells]
    title, more = (
        load(write_run(cells, rows, steps=steps)).plot_staleness().get_suptitle().split("\n")
    )
    assert f"{title} {more}".endswith(
        "in virtual time: further left is fresher; 2 more cells not drawn"
    )
