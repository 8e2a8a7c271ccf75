"""The contract of live.transports.base, held against every transport there is."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
import torch

from psbench.errors import PeerLost, PeerTimeout, TransportError
from psbench.live.letters import letters_over
from psbench.live.messages import Request, Words
from psbench.live.transports import (
    FROM_ANY,
    MIXED,
    OBJECT_STORE,
    OF_HOST_MEMORY,
    OWN_ALL_REDUCE,
    open_endpoint,
)

WORLDS = [1, 2, 3, 5]

pytestmark = pytest.mark.parametrize("name", [*sorted(OF_HOST_MEMORY), MIXED])


def endpoint_of(name, rank):
    """Of the mixed transport, 0 and 1 are on one host and the others on another."""
    return open_endpoint(name, "127.0.0.1", home="one" if rank < 2 else "other")


def numbers(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize("world", WORLDS)
def test_each_has_its_rank_in_a_world_of_its_size(name, world, connect):
    transports = connect(world, name)
    assert [(t.rank, t.size) for t in transports] == [(rank, world) for rank in range(world)]
    assert {t.name for t in transports} == {name}
    assert {t.capabilities.native_all_reduce for t in transports} == {name in OWN_ALL_REDUCE}


@pytest.mark.parametrize("world", WORLDS)
def test_allocates_flat_zeros(name, world, connect, everywhere):
    def allocate(transport):
        return transport.allocate(5, dtype=torch.float64)

    for vector in everywhere(connect(world, name), allocate):
        assert vector.tolist() == [0.0] * 5
        assert vector.dtype == torch.float64


@pytest.mark.parametrize("world", [2, 3, 5])
def test_all_to_all_in_one_round(name, world, connect, everywhere):
    def swap(transport):
        peers = [peer for peer in range(world) if peer != transport.rank]
        received = {peer: torch.empty(1, dtype=torch.int64) for peer in peers}
        sends = [(peer, numbers(10 * transport.rank + peer)) for peer in peers]
        transport.channel(0).exchange(sends, list(received.items())).synchronize()
        return {peer: int(value) for peer, value in received.items()}

    for rank, received in enumerate(everywhere(connect(world, name), swap)):
        assert received == {peer: 10 * peer + rank for peer in range(world) if peer != rank}


def test_messages_of_a_channel_arrive_in_order(name, connect, everywhere):
    def talk(transport):
        channel = transport.channel(0)
        if transport.rank == 0:
            works = [channel.exchange([(1, numbers(i))], []) for i in range(50)]
            for work in works:
                work.synchronize()
            return []
        buffers = [numbers(-1) for _ in range(50)]
        # 25 in one round, the others one by one
        channel.exchange([], [(0, buffer) for buffer in buffers[:25]]).synchronize()
        for buffer in buffers[25:]:
            channel.exchange([], [(0, buffer)]).synchronize()
        return [int(buffer) for buffer in buffers]

    assert everywhere(connect(2, name), talk)[1] == list(range(50))


def test_channels_do_not_mix(name, connect, everywhere):
    def talk(transport):
        first, second = transport.channel(1), transport.channel(2)
        if transport.rank == 0:
            works = [first.exchange([(1, numbers(1))], []), second.exchange([(1, numbers(2))], [])]
        else:
            later, sooner = numbers(0), numbers(0)
            works = [second.exchange([], [(0, later)]), first.exchange([], [(0, sooner)])]
        for work in works:
            work.synchronize()
        return None if transport.rank == 0 else (int(sooner), int(later))

    assert everywhere(connect(2, name), talk)[1] == (1, 2)


def test_large_messages_both_ways_at_once(name, connect, everywhere):
    def swap(transport):
        mine = torch.full((1 << 20,), float(transport.rank + 1), dtype=torch.float64)
        theirs = torch.empty_like(mine)
        peer = 1 - transport.rank
        transport.channel(0).exchange([(peer, mine)], [(peer, theirs)]).wait()
        return theirs.unique().tolist()

    assert everywhere(connect(2, name), swap) == [[2.0], [1.0]]


def test_empty_round(name, connect, everywhere):
    everywhere(connect(1, name), lambda t: t.channel(0).exchange([], []).synchronize())


@pytest.mark.parametrize("world", [2, 5])
def test_receives_from_any(name, world, connect, everywhere):
    transports = connect(world, name)
    if not transports[0].capabilities.recv_any:
        pytest.skip(f"{name} cannot receive from any")

    def talk(transport):
        channel = transport.channel(FROM_ANY)
        if transport.rank:
            for i in range(4):
                channel.exchange([(0, numbers(100 * transport.rank + i))], []).synchronize()
            return None
        heard = {}
        for _ in range(4 * (world - 1)):
            buffer = numbers(0)
            heard.setdefault(channel.recv_any(buffer), []).append(int(buffer))
        return heard

    heard = everywhere(transports, talk)[0]
    assert heard == {r: [100 * r + i for i in range(4)] for r in range(1, world)}


BEHIND = [0, 3, 70_000, 0, 1]
"""The lengths of the vectors behind the words of letters; 0 for no vector."""


@pytest.mark.parametrize("world", [2, 4])
def test_letters_bring_words_and_the_vector_behind_them(name, world, connect, everywhere):
    """As between a server and its workers: each is answered before it writes again."""

    def vector(length, value=-1.0):
        return torch.full((length,), float(value), dtype=torch.float64) if length else None

    def serve(letters):
        asked, replied = Words(Request), Words(Request)
        for _ in range((world - 1) * len(BEHIND)):
            peer = letters.receive_any(asked)
            request = asked.get()
            assert request.generation == peer
            got = vector(BEHIND[request.seq])
            if letters.lends and got is not None:
                got.copy_(letters.borrow(peer, got))
                letters.give_back(peer)
            else:
                letters.take(peer, got)
            assert got is None or got.unique().tolist() == [request.numel]
            replied.put(request._replace(kind=100 + peer))
            for work in letters.send(peer, replied, got if got is None else got + 0.5):
                work.synchronize()

    def ask(letters, rank):
        request, answer = Words(Request), Words(Request)
        for turn, length in enumerate(BEHIND):
            number = 10 * rank + turn
            asked = Request(rank, turn, dtype=0, numel=number, shard=0, kind=0, pulled_version=0)
            request.put(asked)
            works = letters.send(0, request, vector(length, number))
            letters.receive(0, answer)
            assert answer.get() == asked._replace(kind=100 + rank)
            got = vector(length)
            letters.take(0, got)
            assert got is None or got.unique().tolist() == [number + 0.5]
            for work in works:
                work.synchronize()

    def talk(transport):
        letters = letters_over(transport)
        return ask(letters, transport.rank) if transport.rank else serve(letters)

    everywhere(connect(world, name), talk)


@pytest.mark.parametrize("world", WORLDS)
def test_native_all_reduce(name, world, connect, everywhere):
    transports = connect(world, name)
    if not transports[0].capabilities.native_all_reduce:
        pytest.skip(f"{name} has no all-reduce of its own")

    def total(transport):
        vector = torch.arange(1001, dtype=torch.float32) * (transport.rank + 1)
        transport.native_all_reduce(vector, world)
        return vector

    expected = torch.arange(1001, dtype=torch.float32) * sum(range(1, world + 1))
    assert all(torch.equal(v, expected) for v in everywhere(transports, total))


def test_barrier_waits_for_the_last(name, connect, everywhere):
    def meet(transport):
        if transport.rank == 2:
            channel = transport.channel(0)  # comes only after 0 has said so
            channel.exchange([], [(0, numbers(0))]).synchronize()
        came = time.monotonic()
        if transport.rank == 0:
            transport.channel(0).exchange([(2, numbers(0))], []).synchronize()
        transport.barrier()
        return came, time.monotonic()

    came, left = zip(*everywhere(connect(3, name), meet), strict=True)
    assert came[2] > came[0]
    assert min(left) >= max(came)


def test_a_wait_ends_at_its_deadline_and_names_the_peer(name, connect, everywhere):
    def wait(transport):
        transport.channel(0).exchange([], [(2, numbers(0))]).synchronize()

    transports = connect(3, name, deadline=0.5)
    started = time.monotonic()
    with pytest.raises(PeerTimeout, match="rank 2"):
        everywhere(transports[:1], wait)
    assert time.monotonic() - started < 5


def test_a_closed_transport_says_so(name, connect, everywhere):
    def meet(transport):
        transport.close()
        transport.close()
        transport.barrier()

    with pytest.raises(TransportError, match="closed"):
        everywhere(connect(1, name), meet)


def test_another_generation_is_kept_out(name, join):
    for rank, outcome in enumerate(join([0, 1], name, deadline=1.0)):
        assert isinstance(outcome, PeerTimeout)
        assert f"rank {rank} could not join" in str(outcome)


def test_listens_on_the_interface_it_was_given_alone(name, connect):
    if name == OBJECT_STORE:
        pytest.skip("the sockets are Ray's")
    before = own_sockets()
    connect(2, name)
    listening = {address for _, address, state in own_sockets() - before if state == "0A"}
    assert listening <= {"0100007F"}, "something listens on more than loopback"


def own_sockets():
    """(inode, local address in hex, state) of this process's TCP sockets, v4 and v6."""
    links, found = [], set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as file:
            for line in list(file)[1:]:
                fields = line.split()
                if fields[9] in inodes:
                    found.add((fields[9], fields[1].partition(":")[0], fields[3]))
    return found


def member(name, rank):
    """A process of a world of three: 1 only joins; 0 and 2 wait for a message of 1."""
    endpoint = endpoint_of(name, rank)
    print(endpoint.address, flush=True)
    addresses = input().split()
    transport = endpoint.connect(addresses, rank=rank, generation=1, deadline=30.0)
    transport.barrier()
    print("joined", flush=True)
    if rank == 1:
        signal.pause()
    try:
        transport.channel(0).exchange([], [(1, numbers(0))]).synchronize()
    except TransportError as error:
        print(type(error).__name__, error, flush=True)


def test_a_killed_peer_is_lost_at_once_and_by_name(name):
    if name == OBJECT_STORE:
        pytest.skip("its processes are actors: see test_object_store")
    with ExitStack() as stack:
        processes = []
        for rank in range(3):
            command = [sys.executable, __file__, name, str(rank)]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            processes.append(process)
        addresses = [process.stdout.readline().strip() for process in processes]
        for process in processes:
            print(*addresses, file=process.stdin, flush=True)
        assert [process.stdout.readline() for process in processes] == ["joined\n"] * 3
        processes.pop(1).kill()
        killed = time.monotonic()
        for process in processes:
            kind, _, text = process.stdout.readline().partition(" ")
            assert kind == PeerLost.__name__
            assert "rank 1" in text
        assert time.monotonic() - killed < 5


if __name__ == "__main__":
    member(sys.argv[1], int(sys.argv[2]))
