"""`psbench bench` on a Ray of its own: rows, and its end on Ctrl-C."""

import json
import signal

import pytest


def test_rows_are_all_that_is_on_stdout(command):
    done = command.run(
        *("bench", "--json", "--algorithms", "ring,native,push_pull", "--workers", "2,3"),
        *("--transports", "gloo,shared_memory,object_store"),
        *("--sizes", "1023,64KiB", "--calls", "4", "--plot", "bench.png"),
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    carried = [("gloo", name) for name in ("ring", "native", "push_pull")]
    for without_its_own in ("shared_memory", "object_store"):
        carried += [(without_its_own, name) for name in ("ring", "push_pull")]
    points = [(r["transport"], r["algorithm"], r["workers"], r["nbytes"]) for r in rows]
    assert sorted(points) == sorted(
        (*names, workers, nbytes)
        for names in carried
        for workers in (2, 3)
        for nbytes in (1020, 65536)
    )
    for row in rows:
        assert (row["dtype"], row["calls"], row["picked"]) == ("float32", 4, None)
        assert row["wrong"] == 0
        assert row["pinned"] is True
        assert 0 < row["seconds_q1"] <= row["seconds"] <= row["seconds_q3"]
        assert row["algbw"] == pytest.approx(row["nbytes"] / row["seconds"])
        factor = 2 * (row["workers"] - 1) / row["workers"]
        assert row["busbw"] == pytest.approx(factor * row["algbw"])
        assert row["copy_limit_1"] > 1e8
    assert (command.folder / "bench.png").stat().st_size > 10_000
    assert command.nothing_left()


def test_ctrl_c_ends_it_and_nothing_is_left(command):
    process = command.start("bench", "--algorithms", "ring", "--workers", "2", "--calls", "1000000")
    for line in process.stderr:
        if "gloo, 2 workers" in line:
            break
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.endswith("psbench: interrupted\n")
    assert command.nothing_left()
