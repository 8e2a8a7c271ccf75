"""The options of `psbench bench`, refused before anything starts."""

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
