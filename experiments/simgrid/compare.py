"""Hold psbench's virtual time against SimGrid's: the same schedules, message by message.

    python experiments/simgrid/compare.py [--python /usr/bin/python3] [--most 64]

`--python` is an interpreter with SimGrid's bindings (Debian: python3-simgrid). README.md says where
the two agree, and why they do not elsewhere. The last column is of a network without latency, where
all that is left is how messages that meet use a link.
"""

import argparse
import json
import subprocess
from dataclasses import replace
from pathlib import Path

from psbench.network import Link, Topology
from psbench.parts import even_parts
from psbench.schedules import Schedule, schedule_for
from psbench.simulated.collective import Collective, simulate

LINK = Link(latency=20e-6, overhead=0.0, byte_time=1e-9, reduce_time=0.0)
AT_ONCE = replace(LINK, latency=0.0)
NBYTES = 4 * 720_720
ALGORITHMS = ("ring", "halving_doubling", "direct", "star", "tree", "double_tree")
WORLDS = (2, 4, 7, 8, 15, 16, 31, 32, 63, 64)


def messages(schedule: Schedule) -> list[list[tuple[int, int, int]]]:
    """Return (src, dst, bytes) of each round."""
    bounds = even_parts(NBYTES // 4, schedule.num_chunks) * 4
    rounds = []
    for one in schedule.rounds:
        nbytes = bounds[one.stop] - bounds[one.start]
        rounds.append(list(zip(one.src.tolist(), one.dst.tolist(), nbytes.tolist(), strict=True)))
    return rounds


def by_simgrid(python: str, schedules: list[Schedule], link: Link) -> list[float]:
    """Return what SimGrid says each takes, in seconds."""
    work = [
        {
            "world": schedule.world,
            "latency": link.latency,
            "byte_time": link.byte_time,
            "rounds": messages(schedule),
        }
        for schedule in schedules
    ]
    done = subprocess.run(  # noqa: S603 (the user's own interpreter)
        [python, str(Path(__file__).with_name("times.py"))],
        input=json.dumps({"all": work}),
        capture_output=True,
        text=True,
        check=True,
    )
    times: list[float] = json.loads(done.stdout.splitlines()[-1])
    return times


def by_psbench(schedules: list[Schedule], link: Link) -> list[float]:
    """Return what psbench says each takes, in seconds."""
    return [
        simulate(
            [Collective(schedule=schedule, numel=NBYTES // 4)], Topology.flat(schedule.world, link)
        ).finish
        for schedule in schedules
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--most", type=int, default=64, help="the largest world")
    options = parser.parse_args()
    asked = [(name, world) for name in ALGORITHMS for world in WORLDS if world <= options.most]
    schedules = [schedule_for(name, world) for name, world in asked]
    theirs, ours, theirs_at_once, ours_at_once = (
        seconds
        for link in (LINK, AT_ONCE)
        for seconds in (by_simgrid(options.python, schedules, link), by_psbench(schedules, link))
    )
    headers = ("SimGrid, ms", "psbench, ms", "psbench over", "no latency")
    print(f"{'algorithm':<18}{'workers':>8}" + "".join(f"{header:>14}" for header in headers))
    for row, (name, world) in enumerate(asked):
        over = (
            f"{round((own[row] / their[row] - 1) * 100, 2) + 0.0:>+13.2f}%"  # never -0
            for own, their in ((ours, theirs), (ours_at_once, theirs_at_once))
        )
        seconds = f"{theirs[row] * 1e3:>14.4f}{ours[row] * 1e3:>14.4f}"
        print(f"{name:<18}{world:>8}{seconds}{''.join(over)}")


if __name__ == "__main__":
    main()
