"""`psbench schedule`, as typed."""

import json

import pytest
from click.testing import CliRunner

from psbench.cli.schedule import command
from psbench.errors import SpecError
from psbench.schedules import ALGORITHMS


def run(*arguments):
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_small_ring_is_shown_whole():
    lines = run("ring", "--workers", "4").splitlines()
    assert lines[0].startswith("Ring all-reduce: reduce-scatter, then all-gather")
    assert "round 0   add  0 -> 1 [3]   1 -> 2 [0]   2 -> 3 [1]   3 -> 0 [2]" in lines
    assert "round 5   copy 0 -> 1 [2]   1 -> 2 [3]   2 -> 3 [0]   3 -> 0 [1]" in lines
    assert "check: every contribution exactly once; same association on all ranks" in lines
    assert lines[-1].split() == ["0-3", "6", "6", "6", "6", "1.50", "n", "1.50", "n"]


def test_ranks_with_equal_traffic_share_a_line():
    table = run("tree", "--workers", "7", "--chunks", "2").splitlines()[-3:]
    assert [line.split()[0] for line in table] == ["0", "1-2", "3-6"]
    assert [line.split()[-2] for line in table] == ["2.00", "3.00", "1.00"]


def test_ranges_of_chunks_are_shown():
    assert "[5-6]" in run("ring", "--workers", "5", "--chunks", "7")


def test_one_worker_has_nothing_to_send():
    assert "no rounds" in run("tree", "--workers", "1")


@pytest.mark.parametrize("workers", ["4", "7", "64"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("everything", [(), ("--all",)])
def test_lines_fit_the_page(algorithm, workers, everything):
    output = run(algorithm, "--workers", workers, "--chunks", "13", *everything)
    assert max(map(len, output.splitlines())) <= 100


def test_large_schedules_are_shortened_unless_all_is_asked_for():
    short = run("ring", "--workers", "64")
    assert "… 48 more (--all)" in short
    assert "… 110 more rounds (--all)" in short
    whole = run("ring", "--workers", "64", "--all")
    assert "…" not in whole
    assert whole.count("->") == 126 * 64 + 1  # and the legend


def test_json_is_one_object_a_line_and_nothing_else():
    rows = [json.loads(line) for line in run("ring", "--workers", "3", "--json").splitlines()]
    transfers = [row for row in rows if row["kind"] == "transfer"]
    counts = [row for row in rows if row["kind"] == "traffic"]
    assert len(transfers) == 4 * 3
    assert transfers[0] == {
        "kind": "transfer", "round": 0, "src": 0, "dst": 1, "start": 2, "stop": 3, "reduce": True,
    }  # fmt: skip
    assert [row["rank"] for row in counts] == [0, 1, 2]
    assert counts[0] == {
        "kind": "traffic", "rank": 0, "chunks_sent": 4, "chunks_received": 4,
        "messages_sent": 4, "messages_received": 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rign", "--workers", "4"), r"'rign'; known: ring, tree, .*; did you mean 'ring'\?"),
        (("ring", "--workers", "0"), "--workers 0: at least 1"),
        (("ring", "--workers", "4", "--chunks", "0"), "--chunks 0: at least 1"),
        (("star", "--workers", "4", "--roots", "0"), "--roots 0: at least 1 root"),
        (("star", "--workers", "4", "--roots", "5"), "--roots 5: roots are ranks, and there are 4"),
        (("ring", "--workers", "4", "--roots", "2"), "ring takes no roots; star does"),
        (("star", "--workers", "4", "--ranks-per-host", "0"), "--ranks-per-host 0: at least 1"),
        (("star", "--workers", "4", "--ranks-per-host", "2"), "star takes no ranks_per_host; hier"),
        (("ring", "--workers", "4", "--plot", "x.gif"), r"x.gif: .* ends in .png, .svg, .pdf"),
        (("ring", "--workers", "4", "--plot", "no/x.png"), "no/x.png: cannot be written: No such"),
        (("ring", "--workers", "33", "--plot", "x.png"), "33 ranks are too many to draw; at most"),
        (("ring", "--workers", "100000000000"), "too large to check"),
        (("tree", "--workers", "2", "--chunks", "100000000000"), "too large to check"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(SpecError, match=message) as error:
        run(*arguments)
    assert "\n" not in str(error.value)


def test_roots_and_hosts_are_taken():
    assert "round 0   add  1 -> 0 [0]   2 -> 1 [1]" in run("star", "--workers", "3", "--roots", "2")
    rails = run("hierarchical_rails", "--workers", "4", "--ranks-per-host", "2")
    assert "round 1   add  0 -> 2 [1]   1 -> 3 [3]   2 -> 0 [0]   3 -> 1 [2]" in rails


@pytest.mark.parametrize(
    ("name", "begins"), [("x.png", b"\x89PNG"), ("x.svg", b"<?xml"), ("x.PDF", b"%PDF")]
)
def test_a_picture_is_written_as_its_suffix_says(name, begins, tmp_path):
    path = tmp_path / name
    lines = run("tree", "--workers", "3", "--plot", str(path)).splitlines()
    assert lines[-1] == str(path)
    assert lines[0].startswith("Binary tree all-reduce")
    assert path.read_bytes().startswith(begins)


def test_with_json_nothing_else_is_printed_of_a_picture(tmp_path):
    lines = run("ring", "--workers", "2", "--json", "--plot", str(tmp_path / "x.png")).splitlines()
    assert all(json.loads(line) for line in lines)
    assert (tmp_path / "x.png").exists()


def test_help_has_an_example_and_lists_what_there_is():
    text = run("--help")
    assert "psbench schedule ring --workers 4" in text
    assert f"Algorithms: {', '.join(ALGORITHMS)}." in " ".join(text.split())
