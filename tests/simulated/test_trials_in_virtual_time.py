"""Trials in virtual time against closed forms, and against themselves: the same every time."""

import hashlib
import math
import os
import subprocess
import sys

import pytest

from psbench.results import TrialRow
from psbench.schedules import COSTS
from psbench.simulated import run_trial
from psbench.spec import Cell, Trial
from psbench.units import parse_bytes

L, o, G, GAMMA = 20e-6, 3e-6, 1 / 125e6, 1 / 10e9
NETWORK = {
    "bandwidth": "1 Gbit/s",
    "latency": "20 us",
    "overhead": "3 us",
    "reduce_bandwidth": "10 GB/s",
}
SGD = {"kind": "sgd", "lr": 0.1}
MODEL = {"task": {"model": "digits_mlp", "optimizer": SGD}, "batch": {"per_worker": 8}}


def outputs_of(workers, strategy, seed=0, **fields):
    base = {"task": {"payload": "1 MiB"}, "steps": 4, "network": NETWORK, "engine": "simulated"}
    cell = Cell(**base | fields, workers=workers, strategy=strategy)
    return list(run_trial(Trial(cell=cell, repeat=0, seed=seed), cell_id="x", attempt=1))


def trial(workers, strategy, **fields):
    """Return the step rows by (rank, step), and the summary."""
    outputs = outputs_of(workers, strategy, **fields)
    rows = [row for output in outputs if isinstance(output, list) for row in output]
    (summary,) = (output for output in outputs if isinstance(output, TrialRow))
    assert summary.status == "ok", summary.error
    return {(row.rank, row.step): row for row in rows}, summary


def servers(consistency="synchronous", **options):
    return {"kind": "parameter_server", "consistency": consistency, **options}


def all_reduce(algorithm, **options):
    return {"kind": "all_reduce", "algorithm": algorithm, **options}


@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "halving_doubling"])
@pytest.mark.parametrize("workers", [1, 2, 8, 64])
def test_an_all_reduce_takes_what_its_formula_says(algorithm, workers):
    rows, summary = trial(workers, all_reduce(algorithm), compute={"seconds": "5 ms"})
    cost = COSTS[algorithm](workers, 2**20, latency=L, overhead=o, byte_time=G, reduce_time=GAMMA)
    for row in rows.values():
        assert row.exit_s - row.enter_s == pytest.approx(cost, rel=1e-9)
        assert row.compute_s == 5e-3
    assert summary.seconds == pytest.approx(4 * (5e-3 + cost), rel=1e-9)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("number", [1, 2, 3, 16])
def test_push_then_pull_takes_what_its_formula_says(workers, number):
    """All workers push in one order, so that servers are busy one after the other: a message takes
    h = o + n G / s of a port, the last server begins s - 1 of them later, and serves p of them in
    and p out."""
    rows, _ = trial(workers, servers(servers=number), steps=1)
    seconds = max(row.end_s for row in rows.values())
    nbytes = 2**20
    h = o + nbytes / number * G
    formula = 2 * (L + o) + (number - 1 + 2 * workers) * h + workers * nbytes / number * GAMMA
    assert seconds == pytest.approx(formula, rel=1e-9 if 2**18 % number == 0 else 1e-5)
    if number == 1:  # as METRICS has it
        table = 2 * L + 2 * (workers + 1) * o + 2 * workers * nbytes * G + workers * nbytes * GAMMA
        assert seconds == pytest.approx(table, rel=1e-9)


def test_colocated_servers_share_cards_with_workers():
    """Two hosts with a worker and a server each. Half of what a worker pushes stays on its host and
    goes past the card, and the answers likewise: with free links inside, only the other half
    counts, n / 2 each way at once."""
    inside = {"bandwidth": "1000 Tbit/s", "latency": "0 s"}
    network = {"bandwidth": "1 Gbit/s", "latency": "0 s", "inside": inside}
    strategy = servers(servers=2, placement="colocated")
    rows, _ = trial(2, strategy, network=network, steps=1)
    assert max(row.end_s for row in rows.values()) == pytest.approx(2 * 2**19 * G, rel=1e-5)


def test_servers_are_bound_by_their_port_under_asynchrony():
    """A push takes o + n G of the server's port in, as does its answer out, each way apart; the
    workers compute less than that together, so the port in is always busy."""
    _, summary = trial(8, servers("asynchronous"), compute={"seconds": "1 ms"}, steps=50, warmup=10)
    pushes = 8 * 40
    assert summary.seconds == pytest.approx(pushes * (o + 2**20 * G), rel=1e-2)
    assert summary.server_receiving_s[0] == pytest.approx(summary.seconds, rel=1e-2)


def test_workers_are_bound_by_themselves_where_servers_are_idle():
    rows, summary = trial(2, servers("asynchronous"), compute={"seconds": "1 s"}, steps=10)
    alone = 1.0 + 2 * (L + 2 * o + 2**20 * G) + 2**20 * GAMMA
    spent = [row.end_s - row.begin_s for row in rows.values() if row.rank == 0]
    # the other's push is in the way of the first one, and never again
    assert min(spent) == pytest.approx(alone, rel=1e-9)
    assert summary.seconds == pytest.approx(10 * alone, rel=1e-2)


@pytest.mark.parametrize("strategy", ["ring", "tree", "ps-sync"])
def test_a_slow_rank_holds_up_all(strategy):
    slow = {"seconds": "10 ms", "slow": [{"rank": 2, "factor": 5.0}]}
    even, _ = trial(4, strategy, compute={"seconds": "50 ms"})
    rows, _ = trial(4, strategy, compute=slow)
    for rank in range(4):
        computed = 50e-3 if rank == 2 else 10e-3
        assert rows[rank, 1].compute_s == computed
        own, other = (one[rank, 1].end_s - one[rank, 1].begin_s for one in (rows, even))
        assert own == pytest.approx(other, rel=0.2)


def test_bounded_staleness_bounds():
    slow = {"seconds": "1 ms", "slow": [{"rank": 0, "factor": 20.0}]}
    rows, _ = trial(3, servers("bounded_staleness", bound=2), compute=slow, steps=30)
    for row in rows.values():
        if row.rank:
            done = [r for r in rows.values() if r.rank == 0 and r.end_s <= row.begin_s]
            assert row.step - len(done) <= 3
    assert max(row.staleness for row in rows.values()) <= 2 * (2 + 2)


def test_buckets_that_overlap_hide_what_they_can():
    """Two buckets of a ring: the first is known after a third and a half of two thirds of the
    computing, and summed while the rest is computed."""
    options = {"bucket": "512 KiB", "overlap": True}
    rows, _ = trial(4, all_reduce("ring", **options), compute={"seconds": "60 ms"})
    half = COSTS["ring"](4, 2**19, latency=L, overhead=o, byte_time=G, reduce_time=GAMMA)
    row = rows[0, 0]
    assert row.enters == pytest.approx((60e-3 * 2 / 3, 60e-3))
    assert row.exits == pytest.approx((60e-3 * 2 / 3 + half, 60e-3 + half))
    assert row.end_s == pytest.approx(60e-3 + half)


def test_a_bucket_waits_for_the_one_before():
    options = {"bucket": "512 KiB", "overlap": True}
    rows, _ = trial(4, all_reduce("ring", **options), compute={"seconds": "3 ms"})
    half = COSTS["ring"](4, 2**19, latency=L, overhead=o, byte_time=G, reduce_time=GAMMA)
    assert rows[3, 0].end_s == pytest.approx(2e-3 + 2 * half)


def test_an_update_takes_a_pass_over_the_vector():
    rows, _ = trial(2, "ring", compute={"seconds": "1 ms"}, **MODEL)
    nbytes = rows[0, 0].bytes_sent  # of a ring of two: the vector
    assert rows[0, 0].update_s == pytest.approx(nbytes * GAMMA, rel=1e-3)


def test_switches_that_add_take_half_of_a_ring():
    network = NETWORK | {"in_network_reduction": True}
    ring, native = (
        trial(64, strategy, network=network, task={"payload": "64 MiB"})[1].seconds
        for strategy in ("ring", "native")
    )
    assert ring / native == pytest.approx(2, rel=0.05)


def test_the_fastest_is_picked():
    small, large = (
        trial(16, "auto", task={"payload": size})[1].algorithm for size in ("1 KiB", "64 MiB")
    )
    assert small in ("recursive_doubling", "direct", "star")
    assert large in ("ring", "halving_doubling", "direct")
    for size, algorithm in (("1 KiB", small), ("64 MiB", large)):
        times = {
            name: trial(16, all_reduce(name), task={"payload": size})[1].seconds
            for name in ("ring", "tree", "double_tree", "halving_doubling", "recursive_doubling")
        }
        times["auto"] = trial(16, "auto", task={"payload": size})[1].seconds
        assert min(times, key=times.get) in ("auto", algorithm)


def test_the_end_is_that_of_the_servers_versions():
    rows, summary = trial(3, servers("asynchronous"), compute={"seconds": "1 ms"}, **MODEL)
    assert (summary.steps, summary.samples) == (4, 4 * 3 * 8)
    assert summary.pushes_applied >= 12
    assert summary.pushes_sent == summary.pushes_acknowledged == len(rows)
    for rank in range(3):
        own = [row for row in rows.values() if row.rank == rank]
        assert sum(row.staleness + 1 for row in own) == own[-1].version


def test_a_trial_that_diverges_ends():
    task = {"model": "digits_mlp", "optimizer": SGD | {"lr": 1e4}}
    for strategy in ("ring", "ps-sync", "ps-async", "none"):
        outputs = outputs_of(
            2, strategy, **MODEL | {"task": task}, compute={"seconds": "1 ms"}, steps=50
        )
        assert outputs[-1].status == "diverged"
        assert outputs[-1].steps < 50


DIGEST = """
import hashlib
from psbench.simulated import run_trial
from psbench.spec import Cell, Trial
fields = {fields!r}
cell = Cell(**fields)
digest = hashlib.sha256()
for output in run_trial(Trial(cell=cell, repeat=2, seed=5), cell_id="x", attempt=1):
    digest.update(repr(output).encode())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("strategy", ["ps-async", "ssp:2", "ps-sync+backup:1"])
def test_asynchronous_training_repeats_to_the_bit(strategy):
    compute = {
        "seconds": "5 ms",
        "jitter": 0.4,
        "slow": [{"rank": 1, "factor": 3, "probability": 0.2}],
    }
    fields = {
        **MODEL,
        "steps": 12,
        "eval_every": 4,
        "workers": 3,
        "strategy": strategy,
        "engine": "simulated",
        "network": NETWORK,
        "compute": compute,
    }
    seen = set()
    for _ in range(20):
        digest = hashlib.sha256()
        one = Trial(cell=Cell(**fields), repeat=2, seed=5)
        for output in run_trial(one, cell_id="x", attempt=1):
            digest.update(repr(output).encode())
        seen.add(digest.hexdigest())
    assert len(seen) == 1
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        told = subprocess.run(
            [sys.executable, "-c", DIGEST.format(fields=fields)],
            capture_output=True, text=True, check=True, timeout=100, env=environment,
        )  # fmt: skip
        assert told.stdout.strip() in seen
    assert not math.isnan(outputs_of(3, strategy, compute=compute, **MODEL)[0][0].loss)


def test_a_size_with_its_unit_is_what_is_moved():
    rows, _ = trial(2, "ring", task={"payload": "3 MiB"})
    assert rows[0, 0].bytes_sent == parse_bytes("3 MiB")


def test_no_port_is_busy_for_more_than_all_of_the_time():
    compute = {"seconds": "1 ms", "jitter": 0.3}
    for placement in ("dedicated", "colocated"):
        strategy = servers("asynchronous", servers=1, placement=placement)
        _, summary = trial(8, strategy, compute=compute, steps=20, warmup=5)
        shares = [
            seconds[0] / summary.seconds
            for seconds in (
                summary.server_receiving_s,
                summary.server_applying_s,
                summary.server_sending_s,
            )
        ]
        assert max(shares) <= 1 + 1e-9
        assert max(shares) > 0.9
