"""Run schedules in SimGrid: reads JSON on stdin, prints the seconds of each on stdout.

By the interpreter that has SimGrid's Python bindings (Debian: python3-simgrid), which needs nothing
of psbench. Each rank is an actor on a host of its own behind a link of its own, each direction
apart; what a rank sends and receives in a round it begins at once, and waits for all of it.
"""

import json
import subprocess
import sys
import tempfile

from cluster import MODEL, platform_xml
from simgrid import Actor, Engine, Host, Mailbox


def load_cluster(engine, world, latency, byte_time):
    """Return the hosts of the cluster, one a rank."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(platform_xml(world=world, latency=latency, byte_time=byte_time))
        file.flush()
        engine.load_platform(file.name)
    return [Host.by_name(f"host{rank}") for rank in range(world)]


def rank_loop(rounds, finishes, rank):
    """Do this rank's part of all rounds."""
    for round_ in rounds:
        comms, received = [], []
        for number, (src, dst, nbytes) in round_:
            mailbox = Mailbox.by_name(str(number))
            if src == rank:
                comms.append(mailbox.put_async("bytes", nbytes))
            if dst == rank:
                comm, place = mailbox.get_async()
                comms.append(comm)
                received.append(place)  # SimGrid writes to it
        for comm in comms:
            comm.wait()
    finishes[rank] = Engine.clock


def main():
    work = json.load(sys.stdin)
    if "rounds" not in work:  # one process a simulation: an engine can be made but once
        times = []
        for one in work["all"]:
            done = subprocess.run(  # noqa: S603 (this very script)
                [sys.executable, __file__], input=json.dumps(one), capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(done.stderr)
            times.append(float(done.stdout.split()[-1]))
        print(json.dumps(times))
        return
    engine = Engine(["times", *MODEL])
    hosts = load_cluster(engine, work["world"], work["latency"], work["byte_time"])
    finishes = [0.0] * work["world"]
    numbered, count = [], 0
    for round_ in work["rounds"]:
        numbered.append(list(enumerate(map(tuple, round_), start=count)))
        count += len(round_)
    for rank, host in enumerate(hosts):
        own = [[t for t in round_ if rank in t[1][:2]] for round_ in numbered]
        Actor.create(f"rank{rank}", host, rank_loop, [r for r in own if r], finishes, rank)
    engine.run()
    print(max(finishes))


main()
