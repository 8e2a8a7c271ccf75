"""The options of `psbench bench` and `calibrate`, refused before anything starts."""

import pytest

from psbench.cli import invoke


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--algorithms rign",
            "--algorithms: unknown 'rign'; known: ring, ",
        ),
        (
            "--workers 2,x",
            "invalid value for '--workers': 'x' is no number of workers; write it as in 2,4,8;"
            " see psbench bench --help",
        ),
        (
            "--sizes 1,64KiG",
            "invalid value for '--sizes': unknown unit 'KiG' in '64KiG'; write it as in '4 MiB'"
            " (units: B, kB, KB, MB, GB, TB, KiB, MiB, GiB, TiB); see psbench bench --help",
        ),
        ("--workers 0", "--workers 0: from 1 to 1024 are possible"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, said):
    assert invoke(["bench", *arguments.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("psbench: error: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("command", "option"), [("bench", "--transports"), ("calibrate", "--transport")]
)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nccl", " nccl: what is timed is host memory, which nccl does not carry; "),
        ("auto", ": unknown 'auto'; "),
    ],
)
def test_only_what_carries_host_memory_is_offered(capsys, command, option, name, said):
    assert invoke([command, option, name]) == 2
    err = capsys.readouterr().err
    assert err == f"psbench: error: {option}{said}known: gloo, shared_memory, object_store\n"


def test_help_names_what_can_be_calibrated(capsys):
    assert invoke(["calibrate", "--help"]) == 0
    assert "gloo, shared_memory or object_store." in capsys.readouterr().out
