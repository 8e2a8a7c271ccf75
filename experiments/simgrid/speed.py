"""Measure how long psbench takes to simulate collectives, and how much memory, beside SimGrid.

    python experiments/simgrid/speed.py [--quick] [--python /usr/bin/python3]

Each case runs in a process of its own: its peak memory is that of the process, with all that is
imported (the case `imports`). Seconds of the processor are what one core needs; where they are much
below those of the clock, others used the machine. SimGrid's ring is built from ring.cpp with g++
(Debian: libsimgrid-dev), or runs on its Python bindings in `--python` (python3-simgrid).
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from cluster import MODEL, platform_xml

from psbench.network import Link, Topology
from psbench.results import TrialRow
from psbench.schedules import ALGORITHMS, schedule_for
from psbench.simulated import run_trial
from psbench.simulated.collective import Collective, simulate
from psbench.spec import Cell, Trial

HERE = Path(__file__).parent
LINK = Link(latency=20e-6, overhead=0.0, byte_time=1e-9, reduce_time=0.0)
INSIDE = Link(latency=2e-6, overhead=0.0, byte_time=1e-11, reduce_time=0.0)
NUMEL = 1_048_576
SIZES = (*(1024 * 8**power for power in range(7)), 2**30)  # bytes
WORLDS = tuple(2**power for power in range(1, 11))
RING = 1024
PUSHERS, PUSHES = 64, 64 * 300
MOMENTS = 11
"""of a push: it leaves, has left, arrives and is all there, as does its answer; computing ends; its
update begins and ends"""


def one(name: str, world: int, *, per_host: int = 1, uneven: bool = False) -> float:
    """Simulate one collective; return when it ends."""
    hosts = tuple(rank // per_host for rank in range(world))
    topology = Topology(hosts=hosts, between=LINK, inside=INSIDE)
    starts = np.random.default_rng(0).uniform(0.0, 1e-3, world) if uneven else None
    collective = Collective(schedule=schedule_for(name, world), numel=NUMEL, starts=starts)
    return simulate([collective], topology).finish


def sweep(worlds: tuple[int, ...] = WORLDS) -> float:
    """Simulate every algorithm on each of the worlds and sizes."""
    finish = 0.0
    for name in ALGORITHMS:
        for world in worlds:
            per_host = min(8, world)
            options = {"ranks_per_host": per_host} if name.startswith("hierarchical") else {}
            schedule = schedule_for(name, world, **options)
            for nbytes in SIZES:
                collective = Collective(schedule=schedule, numel=nbytes // 4)
                finish = simulate([collective], Topology.flat(world, LINK)).finish
    return finish


def pushes() -> float:
    """Simulate PUSHES pushes through an asynchronous server, all of psbench but for its files."""
    cell = Cell(
        task={"payload": "4 MiB"},
        compute={"seconds": "20 ms"},
        steps=PUSHES // PUSHERS,
        workers=PUSHERS,
        strategy="ps-async",
        engine="simulated",
        network="ethernet-10g",
    )
    outputs = run_trial(Trial(cell=cell, repeat=0, seed=0), cell_id="", attempt=1)
    *_, summary = outputs
    assert isinstance(summary, TrialRow)
    return summary.seconds


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is timed, how often, and in what time it should be done, s."""

    run: Callable[[], float]
    repeats: int
    limit: float | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The seconds of each repeat, the peak memory, and when what was simulated ends."""

    cpu: list[float]
    wall: list[float]
    peak_mib: float
    finish: float


CASES = {
    "imports": Case(run=lambda: one("ring", 2), repeats=9),
    "ring, 1,024": Case(run=lambda: one("ring", RING), repeats=15, limit=0.08),
    "halving_doubling, 1,024": Case(
        run=lambda: one("halving_doubling", 1024), repeats=15, limit=0.01
    ),
    "ring, 1,024, uneven, 8 a host": Case(
        run=lambda: one("ring", RING, per_host=8, uneven=True), repeats=9
    ),
    "direct, 1,024": Case(run=lambda: one("direct", 1024), repeats=9),
    "direct, 256, uneven (by events)": Case(run=lambda: one("direct", 256, uneven=True), repeats=9),
    "all, 8 sizes, 2 to 1,024": Case(run=sweep, repeats=3, limit=30.0),
    f"{PUSHES:,} pushes of {PUSHERS}": Case(
        run=pushes, repeats=9, limit=PUSHES * MOMENTS / 300_000
    ),
    "ring, 16,384": Case(run=lambda: one("ring", 16_384), repeats=3, limit=8.0),
}
SLOW = ("all, 8 sizes, 2 to 1,024", "ring, 16,384")


def measure(case: Case) -> Measured:
    """Measure a case in this process."""
    sweep(WORLDS[:2])  # what is compiled is loaded
    cpu, wall = [], []
    for _ in range(case.repeats):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        finish = case.run()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(cpu=cpu, wall=wall, peak_mib=peak, finish=finish)


def in_a_fresh_process(name: str) -> Measured:
    """Measure a case there."""
    command = [sys.executable, __file__, "--case", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return Measured(**json.loads(done.stdout))


def simgrid_command(python: str, folder: Path) -> tuple[str, list[str]] | None:
    """Return SimGrid's ring, by C++ or else by Python, and its name; None if there is neither."""
    binary = folder / "ring"
    source = str(HERE / "ring.cpp")
    if compiler := shutil.which("g++"):
        command = [compiler, "-O2", "-std=c++17", source, "-o", str(binary), "-lsimgrid"]
        if subprocess.run(command, capture_output=True).returncode == 0:  # noqa: S603
            return "SimGrid, C++", [str(binary)]
    has = subprocess.run([python, "-c", "import simgrid"], capture_output=True)  # noqa: S603
    if has.returncode == 0:
        return "SimGrid, Python", [python, str(HERE / "ring_by_bindings.py")]
    return None


def simgrid_ring(command: list[str], repeats: int) -> Measured:
    """Measure SimGrid's ring; of the clock without the making of its cluster."""
    cpu, wall, peak = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        platform = Path(folder) / "cluster.xml"
        platform.write_text(
            platform_xml(world=RING, latency=LINK.latency, byte_time=LINK.byte_time)
        )
        for _ in range(repeats):
            process = subprocess.Popen(  # noqa: S603
                [*command, str(platform), str(RING), str(4 * NUMEL), *MODEL],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            with process.stdout as output:
                finish, took = map(float, output.read().split()[-2:])
            _, _, used = os.wait4(process.pid, 0)
            process.returncode = 0  # it is gone, which subprocess cannot know
            cpu.append(used.ru_utime + used.ru_stime)
            wall.append(took)
            peak = max(peak, used.ru_maxrss / 1024)
    return Measured(cpu=cpu, wall=wall, peak_mib=peak, finish=finish)


def row(name: str, found: Measured, limit: float | None = None) -> str:
    """Return a line of the table: medians, and the least and the most."""
    spread = f"{min(found.cpu):.4f} to {max(found.cpu):.4f}"
    cpu, wall = statistics.median(found.cpu), statistics.median(found.wall)
    least = "" if limit is None else f"{limit:g}"
    return f"{name:<33}{cpu:>10.4f}{spread:>22}{wall:>10.4f}{least:>8}{found.peak_mib:>8.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--quick", action="store_true", help="without the cases that take long")
    parser.add_argument("--case", choices=CASES, help="this alone, as JSON")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(asdict(measure(CASES[options.case]))))
        return
    print(f"{'':<33}{'CPU, s':>10}{'least to most':>22}{'clock, s':>10}{'limit':>8}{'MiB':>8}")
    ours = {}
    for name, case in CASES.items():
        if options.quick and name in SLOW:
            continue
        ours[name] = in_a_fresh_process(name)
        print(row(name, ours[name], case.limit), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if (found := simgrid_command(options.python, Path(folder))) is None:
            print("no SimGrid: neither libsimgrid-dev nor python3-simgrid")
            return
        how, command = found
        theirs = simgrid_ring(command, repeats=1 if options.quick else 3)
    ring = ours["ring, 1,024"]
    print(row(f"ring, 1,024, {how}", theirs))
    ratio = statistics.median(theirs.cpu) / statistics.median(ring.cpu)
    off = abs(ring.finish / theirs.finish - 1)
    print(f"{ratio:.0f} times the processor's seconds; of when it ends {off:.0e} apart")


if __name__ == "__main__":
    main()
