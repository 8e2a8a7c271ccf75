"""What is particular to shared memory: dtypes, layouts, disagreement, deaths, leaks."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from psbench.errors import Mismatch, PeerTimeout, TransportError
from psbench.live.collective import collective_for
from psbench.live.counters import Counters
from psbench.live.headers import Header
from psbench.live.letters import letters_over
from psbench.live.messages import Request, Words
from psbench.live.transports.shared_memory import SharedMemoryEndpoint
from psbench.schedules import schedule_for


def sum_up(transport, schedule, vector, *, collective=None, **header):
    said = {"generation": 1, "step": 0, "dtype": vector.dtype, "numel": len(vector), **header}
    collective = collective or collective_for(transport, schedule, numel=len(vector))
    collective.run(vector, Header(**said), Counters())
    return vector


def test_vectors_of_a_users_own_and_strided_ones(connect, everywhere):
    schedule = schedule_for("ring", 3)

    def own(transport):
        plain = torch.full((10,), float(transport.rank))
        strided = torch.full((30,), float(transport.rank))
        shared = transport.allocate(40, dtype=torch.float32)
        shared.fill_(transport.rank)
        for vector in (plain, strided[1::3], shared[5:15], shared[20::2]):
            sum_up(transport, schedule, vector)
        return plain, strided, shared

    for rank, (plain, strided, shared) in enumerate(everywhere(connect(3, "shared_memory"), own)):
        assert plain.tolist() == [3.0] * 10
        assert strided.tolist() == [rank, 3.0, rank] * 10
        expected = [rank] * 5 + [3.0] * 10 + [rank] * 5 + [3.0, rank] * 10
        assert shared.tolist() == expected


def test_one_collective_goes_from_vector_to_vector_and_dtype_to_dtype(connect, everywhere):
    schedule = schedule_for("tree", 3)

    def again_and_again(transport):
        collective = collective_for(transport, schedule, numel=5)
        sums = []
        for turn in range(6):
            dtype = (torch.float32, torch.bfloat16, torch.int64)[turn % 3]
            vector = transport.allocate(5, dtype=dtype) if turn % 2 else torch.zeros(5, dtype=dtype)
            vector.fill_(turn + transport.rank)
            sums.append(sum_up(transport, schedule, vector, collective=collective).tolist())
        return sums

    for sums in everywhere(connect(3, "shared_memory"), again_and_again):
        assert sums == [[3 * turn + 3] * 5 for turn in range(6)]


def test_a_dtype_that_no_header_knows_is_refused(connect):
    (transport,) = connect(1, "shared_memory")
    with pytest.raises(Mismatch, match=r"complex64 cannot be sent; known: torch.float32"):
        sum_up(transport, schedule_for("ring", 1), torch.zeros(3, dtype=torch.complex64))


def test_memory_is_given_back_with_the_last_vector(connect):
    (transport,) = connect(1, "shared_memory")
    first = transport.allocate(1000, dtype=torch.float64)
    first.fill_(7)
    place, part = first.data_ptr(), first[10:20]
    del first
    assert transport.allocate(1000, dtype=torch.float64).data_ptr() != place  # part is still used
    del part
    again = transport.allocate(1000, dtype=torch.float64)
    assert again.data_ptr() == place
    assert again.unique().tolist() == [0]
    transport.close()
    again.fill_(1)  # outlives its transport
    assert again.sum() == 1000


def test_more_messages_than_the_mailbox_has_slots(connect, everywhere):
    def talk(transport):
        peer = 1 - transport.rank
        sends = [(peer, torch.full((size,), float(i))) for i in range(100) for size in (3, 300)]
        receives = [(peer, torch.zeros(size)) for _ in range(100) for size in (3, 300)]
        transport.channel(1).exchange(sends, receives).synchronize()
        return [float(tensor.unique()) for _, tensor in receives]

    expected = [float(i) for i in range(100) for _ in range(2)]
    assert everywhere(connect(2, "shared_memory"), talk) == [expected] * 2


def test_a_message_of_another_length_is_no_garbage(connect, everywhere):
    def talk(transport):
        channel = transport.channel(1)
        if transport.rank == 0:
            return channel.exchange([(1, torch.zeros(3))], [])
        with pytest.raises(Mismatch, match="rank 0 sends 12 bytes where 20 are expected"):
            channel.exchange([], [(0, torch.zeros(5))]).synchronize()
        return None

    everywhere(connect(2, "shared_memory"), talk)


def test_what_is_borrowed_lies_in_the_senders_memory(connect, everywhere):
    def talk(transport):
        letters, words = letters_over(transport), Words(Request)
        if transport.rank == 0:
            vector = transport.allocate(1000, dtype=torch.float64)
            for turn in range(3):
                vector.fill_(turn)
                (work,) = letters.send(1, words, vector)
                work.synchronize()  # until it is given back
            return None
        seen = []
        for _ in range(3):
            letters.receive(0, words)
            seen.append(letters.borrow(0, torch.empty(1000, dtype=torch.float64)).unique().tolist())
            letters.give_back(0)
        return seen

    assert everywhere(connect(2, "shared_memory"), talk)[1] == [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize("borrowed", [False, True])
def test_a_letter_with_another_vector_is_no_garbage(connect, everywhere, borrowed):
    def talk(transport):
        letters, words = letters_over(transport), Words(Request)
        if transport.rank == 0:
            return letters.send(1, words, torch.zeros(3))
        letters.receive(0, words)
        with pytest.raises(Mismatch, match="rank 0 sends 12 bytes where 20 are expected"):
            (letters.borrow if borrowed else letters.take)(0, torch.zeros(5))
        return None

    everywhere(connect(2, "shared_memory"), talk)


def test_ranks_that_run_different_schedules_find_out(connect, everywhere):
    def disagree(transport):
        name = "tree" if transport.rank else "ring"
        with pytest.raises(Mismatch) as caught:
            sum_up(transport, schedule_for(name, 3), torch.ones(7))
        return str(caught.value)

    said = everywhere(connect(3, "shared_memory"), disagree)
    assert any("runs another schedule" in text for text in said)


def test_one_that_waits_for_anyone_is_not_to_blame(connect, everywhere):
    def wait(transport):
        channel, room = transport.channel(1), torch.zeros(1)
        transport.barrier()
        if transport.rank == 0:
            return "any of rank 0"  # who says nothing
        waits = {
            1: lambda: channel.exchange([], [(2, room)]).synchronize(),
            2: lambda: channel.recv_any(room),
        }
        with pytest.raises(PeerTimeout) as caught:
            waits[transport.rank]()
        return str(caught.value)

    said = everywhere(connect(3, "shared_memory", deadline=2), wait)
    assert all(text.startswith("any of rank 0") for text in said), said


def member(rank, deadline, world):
    """A process that joins a world and sums up without end; `stuck` is the rank that is stopped."""
    endpoint = SharedMemoryEndpoint("127.0.0.1")
    print(endpoint.address, flush=True)
    transport = endpoint.connect(
        input().split(), rank=rank, generation=1, deadline=deadline, join_seconds=30
    )
    vector = transport.allocate(1 << 20, dtype=torch.float32)
    collective = collective_for(transport, schedule_for("ring", world), numel=len(vector))
    transport.barrier()
    print("joined", flush=True)
    header, counters = Header.describing(vector, generation=1, step=0), Counters()
    try:
        while True:
            collective.run(vector, header, counters)
    except TransportError as error:
        print(time.monotonic(), type(error).__name__, error, flush=True)


@pytest.fixture
def world_of_processes():
    """`world_of_processes(size, deadline)` -> processes that are in the midst of collectives."""
    with ExitStack() as stack:

        def start(size, deadline):
            command = [sys.executable, __file__]
            processes = []
            for rank in range(size):
                process = subprocess.Popen(
                    [*command, str(rank), str(deadline), str(size)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                stack.enter_context(process)
                stack.callback(process.kill)
                processes.append(process)
            addresses = [process.stdout.readline().strip() for process in processes]
            for process in processes:
                print(*addresses, file=process.stdin, flush=True)
            for process in processes:
                assert process.stdout.readline() == "joined\n"
            return processes

        yield start


def test_a_rank_killed_in_a_collective_is_named_by_all_others(world_of_processes):
    processes = world_of_processes(4, 30.0)
    processes[2].kill()
    killed = time.monotonic()
    for rank in (0, 1, 3):
        when, kind, *text = processes[rank].stdout.readline().split()
        assert (kind, text[:2]) == ("PeerLost", ["rank", "2"])
        assert float(when) - killed < 2


def test_a_rank_stopped_in_a_collective_is_named_by_all_others(world_of_processes):
    processes = world_of_processes(4, 1.5)
    processes[1].send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    for rank in (0, 2, 3):
        when, kind, *text = processes[rank].stdout.readline().split()
        assert (kind, text[:2]) == (PeerTimeout.__name__, ["rank", "1"])
        assert float(when) - stopped < 1.5 + 1


def test_nothing_is_left_of_a_world_that_is_killed(world_of_processes):
    before = {path: set(os.listdir(path)) for path in ("/dev/shm", "/tmp")}  # noqa: S108
    processes = world_of_processes(3, 30.0)
    names = {f"psbench-{process.pid}-" for process in processes}
    for process in processes:
        process.kill()
        process.wait()
    assert not [line for line in abstract_sockets() if any(name in line for name in names)]
    for path, held in before.items():
        new = set(os.listdir(path)) - held
        assert not [name for name in new if "psbench" in name]


def abstract_sockets():
    return Path("/proc/net/unix").read_text().splitlines()


def test_another_users_process_or_a_stranger_is_sent_away(connect):
    """A caller that says nothing we know is dropped, and the world forms all the same."""
    import socket
    from concurrent.futures import ThreadPoolExecutor

    endpoints = [SharedMemoryEndpoint("127.0.0.1") for _ in range(2)]
    addresses = [endpoint.address for endpoint in endpoints]
    stranger = socket.socket(socket.AF_UNIX)
    stranger.connect(f"\0{addresses[0]}")
    stranger.sendall(b"GET / HTTP/1.1\r\n" + b" " * 100)
    stranger.shutdown(socket.SHUT_WR)

    def join(rank):
        return endpoints[rank].connect(addresses, rank=rank, generation=1, deadline=10)

    with stranger, ThreadPoolExecutor(2) as pool:
        transports = list(pool.map(join, range(2)))
    assert [t.rank for t in transports] == [0, 1]
    for transport in transports:
        transport.close()


if __name__ == "__main__":
    member(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
