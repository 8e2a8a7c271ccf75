"""`psbench schedule auto`: predictions, from the formulas and from what was measured."""

import json

import pytest
from click.testing import CliRunner

from psbench.cli.schedule import command
from psbench.errors import SpecError
from psbench.live.auto import ON_ONE_HOST, network_file
from psbench.network import Link, Network, Timing
from psbench.spec import write_network

LINK = Link(latency=1e-5, overhead=1e-6, byte_time=1e-9, reduce_time=1e-10)


def run(*arguments):
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def network(tmp_path):
    timings = tuple(
        Timing(algorithm=name, workers=4, nbytes=65536, seconds=seconds)
        for name, seconds in (("ring", 2e-4), ("tree", 1e-4))
    )
    measured = Network(transport="gloo", link=LINK, uncertainty=LINK, timings=timings)
    write_network(network_file(measured), tmp_path / "network.yaml")
    return str(tmp_path / "network.yaml")


def test_what_was_timed_decides(network):
    lines = run("auto", "--workers", "4", "--size", "64KiB", "--network", network).splitlines()
    assert lines[0] == "an all-reduce of 64.0 KiB by 4 workers"
    assert [line.split() for line in lines[3:5]] == [
        ["tree", "100", "us", "1.00"],
        ["ring", "200", "us", "2.00"],
    ]
    assert "auto is tree" in lines


def test_formulas_decide_where_nothing_was_timed(network):
    options = ("--workers", "3", "--size", "1000", "--network", network)
    rows = [json.loads(line) for line in run("auto", *options, "--json").splitlines()]
    costs = {name: cost(3, 1000, **LINK.costs()) for name, cost in ON_ONE_HOST.items()}
    assert {row["algorithm"]: row["seconds"] for row in rows} == pytest.approx(costs)
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert "nothing was timed with 3 workers" in run("auto", *options)


def test_a_link_that_is_assumed_is_said_to_be():
    text = run("auto", "--workers", "8", "--size", "4 MiB")
    assert "assumed: 20 us, 10 Gbit/s (give --network FILE)" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("auto", "--workers", "4"), "write --size, such as 4MiB"),
        (("auto", "--workers", "4", "--size", "4MiG"), "--size: unknown unit 'MiG'"),
        (("auto", "--workers", "0", "--size", "4"), "--workers 0: at least 1"),
        (("auto", "--workers", "2", "--size", "4", "--network", "none.yaml"), "no such file"),
        (("ring", "--workers", "2", "--size", "4"), "are for auto, and ring goes by neither"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(SpecError, match=message) as error:
        run(*arguments)
    assert "\n" not in str(error.value)
