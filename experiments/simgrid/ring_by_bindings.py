"""What ring.cpp does, by SimGrid's Python bindings: several times slower, but it needs no compiler.

python3 ring_by_bindings.py PLATFORM WORLD BYTES [--cfg=...]
"""

import sys
import time

from simgrid import Actor, Engine, Host, Mailbox


def rank_loop(rank, world, segment):
    own, following = (Mailbox.by_name(str(other % world)) for other in (rank, rank + 1))
    for _ in range(2 * (world - 1)):
        sent = following.put_async("bytes", segment)
        own.get()
        sent.wait()


def main():
    platform, world, nbytes, *options = sys.argv[1:]
    engine = Engine(["ring", *options])
    engine.load_platform(platform)
    segment = int(nbytes) // int(world)
    for rank in range(int(world)):
        host = Host.by_name(f"host{rank}")
        Actor.create(f"rank{rank}", host, rank_loop, rank, int(world), segment)
    begin = time.perf_counter()
    engine.run()
    print(Engine.clock, time.perf_counter() - begin)


main()
