"""Hold psbench's virtual time against SimGrid's: the same schedules, message by message.

    python experiments/simgrid/compare.py [--python /usr/bin/python3] [--most 64]

`--python` is an interpreter with SimGrid's bindings (Debian: python3-simgrid). Where no two
messages meet at a port the two must agree; where they meet, SimGrid gives each a fair share of the
link while psbench has them queue, and the table says by how much that differs.
"""

import argparse
import json
import subprocess
from pathlib import Path

from psbench.network import Link, Topology
from psbench.parts import even_parts
from psbench.schedules import Schedule, schedule_for
from psbench.simulated.collective import Collective, simulate

LINK = Link(latency=20e-6, overhead=0.0, byte_time=1e-9, reduce_time=0.0)
NBYTES = 4 * 720_720
ALIKE = ("ring", "halving_doubling")
UNLIKE = ("tree", "double_tree", "star", "direct")


def messages(schedule: Schedule) -> list[list[tuple[int, int, int]]]:
    """Return (src, dst, bytes) of each round."""
    bounds = even_parts(NBYTES // 4, schedule.num_chunks) * 4
    rounds = []
    for one in schedule.rounds:
        nbytes = bounds[one.stop] - bounds[one.start]
        rounds.append(list(zip(one.src.tolist(), one.dst.tolist(), nbytes.tolist(), strict=True)))
    return rounds


def by_simgrid(python: str, schedules: list[Schedule]) -> list[float]:
    """Return what SimGrid says each takes, in seconds."""
    work = [
        {
            "world": schedule.world,
            "latency": LINK.latency,
            "byte_time": LINK.byte_time,
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--most", type=int, default=64, help="the largest world")
    options = parser.parse_args()
    worlds = [world for world in (2, 4, 8, 16, 32, 64) if world <= options.most]
    asked = [(name, world) for name in (*ALIKE, *UNLIKE) for world in worlds]
    schedules = [schedule_for(name, world) for name, world in asked]
    headers = ("SimGrid, ms", "psbench, ms", "psbench over")
    print(f"{'algorithm':<18}{'workers':>8}" + "".join(f"{header:>14}" for header in headers))
    for (name, world), schedule, theirs in zip(
        asked, schedules, by_simgrid(options.python, schedules), strict=True
    ):
        collective = Collective(schedule=schedule, numel=NBYTES // 4)
        ours = simulate([collective], Topology.flat(world, LINK)).finish
        print(
            f"{name:<18}{world:>8}{theirs * 1e3:>14.4f}{ours * 1e3:>14.4f}"
            f"{(ours / theirs - 1) * 100:>+13.3f}%"
        )


if __name__ == "__main__":
    main()
