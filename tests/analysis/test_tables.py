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
    assert "> 12.3" in text
    assert any(note.startswith("> time") for note in notes(results))


def test_the_time_to_target_has_its_spread(write_run, cell, trial_row, eval_row):
    cells = [cell(name, 2) for name in ("ring", "tree", "native")]
    seconds = ((2.0, 3.0, 4.0), (2.0, 3.0, None), (2.0, None, None))
    rows = []
    for one, times in zip(cells, seconds, strict=True):
        for repeat, time in enumerate(times):
            rows.append(trial_row(one["id"], repeat))
            accuracy = 0.5 if time is None else 0.95
            rows.append(eval_row(one["id"], repeat, seconds=time or 5.0, accuracy=accuracy))
    results = load(write_run(cells, rows, repeats=3))
    lines = _printed(results, width=120, terminal=True)
    ends = [" ".join(line.split()[-2:]) for line in lines if line[:4] in ("ring", "tree", "nati")]
    assert ends == ["3.00 (2.00–4.00)", "3.00 (2.00–∞)", "> 5.00"]
    assert "target not reached by 1 of 3: tree, 2 workers" in notes(results)


def test_the_largest_node_has_the_peak_memory(write_run, cell, trial_row):
    cells = [cell("ring", 2), cell("ps-sync", 2)]
    nodes = ((300 * 2**20, 200 * 2**20), (2**20, 2**20, 400 * 2**20))
    rows = [
        trial_row(one["id"], peak_memory_bytes=own) for one, own in zip(cells, nodes, strict=True)
    ]
    text = "\n".join(_printed(load(write_run(cells, rows)), width=120, terminal=True))
    assert "memory" in text
    assert "300 MiB" in text
    assert "400 MiB" in text


def test_what_all_cells_share_is_in_the_title(write_run, cell, trial_row):
    ring = cell("ring", 2)
    lines = _printed(load(write_run([ring], [trial_row(ring["id"])])), width=120, terminal=True)
    assert lines[0].startswith("quickstart: 2 workers over gloo, medians over 1 repeat")
    assert "workers" not in "".join(lines[1:4])


def test_a_bare_loop_has_its_rate_and_nothing_of_steps(write_run, cell, trial_row):
    bare = cell("bare", 1, target=None)
    row = trial_row(bare["id"], bytes_sent=(), bytes_received=())
    text = "\n".join(_printed(load(write_run([bare], [row])), width=120, terminal=True))
    assert "8.00" in text
    assert "step" not in text


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
        "wait, for ps-async: the time a push lay in the server's queue",
        "ps-async: each push is an update at the whole lr; others make one of 2 pushes",
        "> time: the median repeat had not reached the target by then, when it ended",
        "target not reached by 1 of 2: ps-async, 2 workers",
        "2 repeats: too few to tell a difference from noise; ask for 3 or more",
        "up to 3 processes on 2 cores: timings compare but do not scale",
        "repeats differ in transport (other, gloo): ps-async, 2 workers",
        "transports differ (gloo, other): a difference between such cells is the transport's "
        "as well as the strategy's",
        "some trials ran on several clocks: their wait and communication cannot be told apart",
    ]
    assert found == expected


def test_the_table_tells_transports_that_differ_and_those_who_send_nothing_do_not_matter(
    write_run, cell, trial_row
):
    ring, native, none = cell("ring", 2), cell("native", 2), cell("none", 2)
    silent = {"messages_sent": (0, 0), "transport": "shared_memory"}
    rows = [
        trial_row(ring["id"]),
        trial_row(native["id"], messages_sent=(-1, -1)),  # not counted
        trial_row(none["id"], **silent),
    ]
    alike = load(write_run([ring, native, none], rows))
    assert not [note for note in notes(alike) if "transport" in note]
    rows[0] = trial_row(ring["id"], transport="shared_memory")
    unlike = load(write_run([ring, native, none], rows))
    assert [note for note in notes(unlike) if "transport" in note] == [
        "transports differ (shared_memory, gloo): a difference between such cells is the "
        "transport's as well as the strategy's"
    ]
    title, *lines = _printed(unlike, width=120, terminal=True)
    assert title.startswith("quickstart: 2 workers, medians")
    told = dict(line.split()[:2] for line in lines if len(line.split()) > 1)
    assert told["strategy"] == "transport"
    assert [told[name] for name in ("ring", "native", "none")] == [
        "shared_memory", "gloo", "shared_memory",
    ]  # fmt: skip


def test_what_auto_took_is_told_from_what_was_asked_for(write_run, cell, trial_row):
    ring, tree = cell("ring", 2), cell("tree", 2, transport="gloo")
    results = load(write_run([ring, tree], [trial_row(ring["id"]), trial_row(tree["id"])]))
    title, *lines = _printed(results, width=120, terminal=True)
    assert title.startswith("quickstart: 2 workers over gloo, medians")
    assert any(line.startswith("ring     gloo (auto) ") for line in lines)
    assert any(line.startswith("tree     gloo        ") for line in lines)


def test_notes_say_once_what_auto_took(write_run, cell, trial_row):
    ring, tree = cell("ring", 2), cell("tree", 2)
    rows = [trial_row(ring["id"], repeat, algorithm="star") for repeat in range(2)]
    rows += [trial_row(tree["id"], repeat, chunks=8) for repeat in range(2)]
    found = notes(load(write_run([ring, tree], rows, repeats=2)))
    assert [note for note in found if note.startswith("auto took")] == [
        "auto took star: ring, 2 workers",
        "auto took 8 chunks: tree, 2 workers",
    ]


def test_notes_name_each_cell_by_what_varies(write_run, cell, trial_row):
    cells = [cell("ring", 2, lr=lr) for lr in (0.1, 1.0)]
    rows = [trial_row(cells[0]["id"]), trial_row(cells[1]["id"], status="diverged")]
    results = load(write_run(cells, rows, axes=("task.optimizer.lr",)))
    assert "diverged: ring, lr 1.0, repeat 0" in notes(results)


def _notes_of(write_run, one, rows):
    return notes(load(write_run([one], rows, repeats=3)))


def test_processes_that_were_not_pinned_are_noted_where_known(write_run, cell, trial_row):
    ring = cell("ring", 2, target=None)

    def found(*cores):
        rows = [trial_row(ring["id"], repeat, pinned_cores=cores) for repeat in range(3)]
        return _notes_of(write_run, ring, rows)

    (note,) = found("0", "")
    assert note.startswith("ranks not pinned to cores: ")
    assert found("0", "1") == found("") == found() == []


def test_devices_that_differ_are_noted(write_run, cell, trial_row):
    ring, tree = cell("ring", 2, target=None), cell("tree", 2, target=None)

    def found(*devices):
        pairs = zip((ring, tree), devices, strict=True)
        rows = [trial_row(one["id"], repeat, device=d) for one, d in pairs for repeat in range(3)]
        return notes(load(write_run([ring, tree], rows, repeats=3)))

    assert found("cpu", "cuda") == [
        "devices differ (cpu, cuda): a difference between such cells is the device's as well "
        "as the strategy's"
    ]
    assert found("cuda", "cuda") == found("cpu", "cpu") == []


def test_compute_threads_that_differ_are_noted(write_run, cell, trial_row):
    ring = cell("ring", 2, target=None)
    rows = [trial_row(ring["id"], repeat, threads=1 + repeat // 2) for repeat in range(3)]
    assert _notes_of(write_run, ring, rows) == [
        "compute threads differ (1, 2): compare only cells with as many"
    ]


@pytest.mark.parametrize(
    ("strategy", "cluster", "machines", "expected"),
    [
        ("ring", {"ranks_per_host": 1}, ("a",) * 4, "4 logical hosts emulated on 1 machine"),
        ("ring", {"ranks_per_host": 2}, ("a",) * 4, "2 logical hosts emulated on 1 machine"),
        ("ring", {"hosts": 4}, ("a", "a", "b", "b"), "4 logical hosts emulated on 2 machines"),
        ("ps-sync", {"hosts": 4}, ("a",) * 5, "5 logical hosts emulated on 1 machine"),
        ("ps-sync", {"ranks_per_host": 2}, ("a",) * 5, "3 logical hosts emulated on 1 machine"),
        ("colocated", {"hosts": 4}, ("a",) * 5, "4 logical hosts emulated on 1 machine"),
        ("ring", {"ranks_per_host": 2}, ("a", "a", "b", "b"), None),
        ("ring", {"ranks_per_host": None}, ("a",) * 4, None),
        ("ring", None, ("a",) * 4, None),
    ],
)
def test_emulated_hosts_are_noted(
    write_run, cell, trial_row, strategy, cluster, machines, expected
):
    one = cell("ps-sync" if strategy == "colocated" else strategy, 4, target=None)
    one["fields"]["cluster"] = cluster
    if strategy == "colocated":
        one["fields"]["strategy"] = one["fields"]["strategy"] | {"placement": "colocated"}
    rows = [trial_row(one["id"], repeat, node_hosts=machines) for repeat in range(3)]
    lines = [] if expected is None else [f"{expected}: no network lies between them"]
    assert _notes_of(write_run, one, rows) == lines


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        ({"seconds": "2.0 s"}, ["compute padding of 2.00 s too short: computing took 4.00 s"]),
        ({"seconds": "3.8 s"}, []),
        ({"seconds": "2.0 s", "jitter": 0.1}, []),
        ({"seconds": "2.0 s", "stragglers": {"probability": 0.9}}, []),
        ({"seconds": "2.0 s", "slow": [{"rank": 1, "factor": 3.0}]}, []),
        ({"seconds": None}, []),
    ],
)
def test_padding_that_was_too_short_is_noted(
    write_run, cell, trial_row, step_row, compute, expected
):
    ring = cell("ring", 2, target=None)
    ring["fields"]["compute"] = compute
    rows = [trial_row(ring["id"], repeat) for repeat in range(3)]
    steps = {(ring["id"], 0): [step_row(0, step) for step in range(4)]}
    assert notes(load(write_run([ring], rows, steps=steps, repeats=3))) == expected


def test_warnings_of_the_run_are_noted_once(write_run, cell, trial_row):
    ring = cell("ring", 2, target=None)
    few = "1 repeat: too few to tell a difference from noise; ask for 3 or more"
    results = load(write_run([ring], [trial_row(ring["id"])]))
    results.manifest["warnings"] = [few, "something else"]
    assert notes(results) == [few, "something else"]


def test_a_clean_run_has_no_notes(write_run, cell, trial_row, eval_row):
    ring = cell("ring", 2)
    rows = [row for repeat in range(3) for row in (trial_row(ring["id"], repeat),)]
    rows += [eval_row(ring["id"], repeat, accuracy=1.0) for repeat in range(3)]
    assert notes(load(write_run([ring], rows, repeats=3))) == []


def test_notes_say_how_the_columns_of_each_strategy_read(write_run, cell, trial_row, eval_row):
    ring, own, ruled, held = (cell(name, 2, lr=lr) for lr, name in enumerate(
        ["ring", "ps-async", "ps-async", "ps-async"]
    ))  # fmt: skip
    ruled["strategy"], held["strategy"] = "ruled", "held"
    cells = [ring, own, ruled, held]
    for one in cells[1:]:
        one["fields"]["strategy"] = dict(one["fields"]["strategy"])
    ruled["fields"]["strategy"]["lr_rule"] = {"kind": "inverse_workers"}
    held["fields"]["strategy"]["bound"] = 3
    rows = [trial_row(one["id"], pushes_applied=9, pushes_dropped=1) for one in cells]
    rows += [eval_row(one["id"]) for one in cells]
    found = notes(load(write_run(cells, rows)))
    assert "wait, for ps-async, ruled: the time a push lay in the server's queue" in found
    assert "wait, for held: the time a push lay in the queue, or was held for others" in found
    assert "samples/s leaves out what was dropped" in found
    alone = "ps-async, held: each push is an update at the whole lr; others make one of 2 pushes"
    assert alone in found


def test_notes_name_local_steps_and_a_placement_that_changes_nothing(write_run, cell, trial_row):
    local = cell("ring", 2)
    local["fields"]["strategy"] = {"kind": "local_sgd", "every": 8, "over": {
        "kind": "parameter_server", "consistency": "synchronous", "placement": "colocated",
    }}  # fmt: skip
    found = notes(load(write_run([local], [trial_row(local["id"])])))
    assert "step, for ring: most steps send nothing; what sending costs is in samples/s" in found
    vain = "placement: colocated changes nothing on one host; set cluster.ranks_per_host"
    assert vain in found
    local["fields"]["cluster"] = {"ranks_per_host": 1}
    assert vain not in notes(load(write_run([local], [trial_row(local["id"])])))
