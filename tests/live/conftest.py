"""Worlds of real transports: one thread a process, each with an endpoint of its own on loopback."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import torch

from psbench.live.host import this_host
from psbench.live.job import Job, StepLog
from psbench.live.server import Server
from psbench.live.transports import open_endpoint
from psbench.live.worker import Worker
from psbench.live.world import realised_transport
from psbench.spec import Trial

DEADLINE = 20.0


def home_of(rank):
    """Of two hosts, that of a process, where a transport asks for it."""
    return "one" if rank < 2 else "other"


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def connect():
    """`connect(world, transport="gloo", deadline=...)` -> the connected transports, by rank."""
    with ExitStack() as stack:

        def make(world, transport="gloo", deadline=DEADLINE, generation=1):
            endpoints = [
                open_endpoint(transport, "127.0.0.1", home=home_of(rank)) for rank in range(world)
            ]
            addresses = [endpoint.address for endpoint in endpoints]

            def join(rank):
                return endpoints[rank].connect(
                    addresses, rank=rank, generation=generation, deadline=deadline
                )

            with ThreadPoolExecutor(world) as pool:
                transports = list(pool.map(join, range(world)))
            for made in transports:
                stack.callback(made.close)
            return transports

        yield make


@pytest.fixture
def everywhere():
    """`everywhere(transports, do)` -> [do(transport) for each], at once, one thread each."""

    def run(transports, do):
        # the number of compute threads is a setting of each thread
        one_each = {"initializer": torch.set_num_threads, "initargs": (1,)}
        with ThreadPoolExecutor(len(transports), **one_each) as pool:
            calls = [pool.submit(do, transport) for transport in transports]
            return [call.result(timeout=90) for call in calls]

    return run


class Outcome:
    """A finished trial: its nodes, reports and step rows, by rank (servers last)."""

    def __init__(self, nodes, reports, logs):
        self.nodes = nodes
        self.reports = reports
        self.rows = [row for log in logs for row in log.drain()]

    def parameters(self, rank):
        """The trained parameters of a rank, the loss that travels with them left out."""
        learner = self.nodes[rank].learner
        return learner.parameters[: learner.parameters.numel() - learner.carried]

    def losses(self):
        """Losses by (rank, step)."""
        return {(row.rank, row.step): row.loss for row in self.rows}


@pytest.fixture
def run_trial(connect, everywhere):
    """`run_trial(cell, seed=0, repeat=0, prepare=None)` -> Outcome: real loops, real bytes.

    `prepare(nodes)` may change the workers and servers before they start. With `apart` they are on
    two hosts, as far as `transport: auto` goes.
    """

    def run(cell, seed=0, repeat=0, prepare=None, apart=False):
        homes = [home_of(rank) if apart else "one" for rank in range(cell.processes)]
        hosts = [dataclasses.replace(this_host(), home=home) for home in homes]
        transports = connect(cell.processes, realised_transport(cell, hosts))
        job = Job(trial=Trial(cell=cell, repeat=repeat, seed=seed), generation=7, folder=".")
        logs = [StepLog() for _ in range(cell.workers)]
        nodes = [
            Worker(job, transport, logs[transport.rank])
            if transport.rank < cell.workers
            else Server(job, transport)
            for transport in transports
        ]
        if prepare:
            prepare(nodes)

        def go(transport):
            node = nodes[transport.rank]
            return node.train() if isinstance(node, Worker) else node.serve()

        return Outcome(nodes, everywhere(transports, go), logs)

    return run
