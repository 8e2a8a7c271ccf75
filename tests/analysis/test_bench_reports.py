"""What `psbench bench` shows: its tables, its picture, and what is wrong."""

import io

import pytest
from rich.console import Console

from psbench.analysis.bench_plot import plot_bench, save_bench_plot
from psbench.analysis.bench_table import print_bench, wrong_lines
from psbench.errors import ResultsError
from psbench.results import BenchRow


def make_row(algorithm="ring", nbytes=1024, seconds=1e-3, workers=2, **changes):
    fields = {
        "algorithm": algorithm,
        "transport": "gloo",
        "workers": workers,
        "nbytes": nbytes,
        "dtype": "float32",
        "calls": 20,
        "seconds": seconds,
        "seconds_q1": 0.9 * seconds,
        "seconds_q3": 1.3 * seconds,
        "algbw": nbytes / seconds,
        "busbw": nbytes / seconds * 2 * (workers - 1) / workers,
        "wrong": 0,
        "pinned": True,
        "picked": None,
        "copy_limit_1": 10e9,
        "copy_limit_2": 16e9,
    }
    return BenchRow(**fields | changes)


ROWS = [
    make_row(workers=4),
    make_row(seconds=2e-3),
    make_row("native", seconds=1.5e-3),
    make_row(nbytes=4 * 2**20, seconds=4e-3),
]


def shown(rows):
    stream = io.StringIO()
    print_bench(rows, Console(file=stream, width=60, markup=False, highlight=False))
    return stream.getvalue().splitlines()


def test_a_table_for_each_number_of_workers_sizes_down():
    lines = shown(ROWS)
    assert lines[0] == "gloo, 2 workers: median time of a call"
    assert lines[2].split() == ["size", "ring", "native", "fastest", "GB/s", "middle", "half"]
    assert lines[4].split() == [
        "1.00", "KiB", "2.00", "ms", "1.50", "ms", "native", "0.000683",
        "1.35", "ms", "–", "1.95", "ms",
    ]  # fmt: skip
    assert lines[5].split()[:8] == ["4.00", "MiB", "4.00", "ms", "-", "ring", "1.05", "3.60"]
    assert "gloo, 4 workers: median time of a call" in lines
    assert lines[-1] == (
        "* memory is copied at 10 GB/s by one process, 16 by two at once (bytes read + written)"
    )
    assert shown([]) == []


def test_a_wrong_sum_shouts():
    row = make_row(wrong=3)
    assert any("WRONG 1.00 ms" in line for line in shown([row]))
    assert list(wrong_lines([*ROWS, row])) == [
        "WRONG RESULTS: ring over gloo, 2 workers, 1.00 KiB: 3 elements differ from the exact sum"
    ]


def test_lines_of_the_picture_are_the_medians_and_the_limit():
    figure = plot_bench(ROWS)
    two, four = figure.axes
    assert (two.get_title(loc="left"), four.get_title(loc="left")) == (
        "gloo, 2 workers",
        "gloo, 4 workers",
    )
    assert two.get_xscale() == two.get_yscale() == "log"
    ring, native, limit = (line.get_xydata().tolist() for line in two.lines)
    assert ring == [[1024, 2e-3], [4 * 2**20, 4e-3]]
    assert native == [[1024, 1.5e-3]]
    assert limit[1] == [4 * 2**20, pytest.approx(2 * 2 * 4 * 2**20 / 16e9)]
    assert two.lines[0].get_color() == "#0072B2"


def test_the_picture_is_saved_or_it_is_said_why_not(tmp_path):
    save_bench_plot(ROWS, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(ResultsError, match=r"cannot draw .*bench\.docx"):
        save_bench_plot(ROWS, tmp_path / "bench.docx")
    with pytest.raises(ResultsError, match="nothing to draw"):
        save_bench_plot([make_row(nbytes=0)], tmp_path / "bench.png")
