"""Worlds of real transports: one thread a process, each with an endpoint of its own on loopback;
over Ray's object store one actor a process."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from psbench.errors import TransportError
from psbench.live.host import this_host
from psbench.live.job import Job, StepLog
from psbench.live.server import Server
from psbench.live.transports import OBJECT_STORE, Capabilities, open_endpoint
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


@pytest.fixture(scope="module")
def nodes(request):
    """`nodes(world)` -> so many of Ray's actors, used again in a module and replaced if they died.

    They can be sent functions of the test's module.
    """
    import ray

    from psbench.live.actors import Node
    from psbench.live.cluster import cluster

    made = []

    def lives(node):
        try:
            ray.get(node.ping.remote(), timeout=10)
        except ray.exceptions.RayError:
            return False
        return True

    def take(world):
        made[:] = [node for node in made if lives(node)]
        made.extend(Node.options(num_cpus=0).remote() for _ in range(world - len(made)))
        return made[:world]

    with cluster(3, vectors=True):
        ray.cloudpickle.register_pickle_by_value(request.module)  # actors cannot import it
        yield take
        ray.cloudpickle.unregister_pickle_by_value(request.module)


@dataclass(frozen=True)
class Placed:
    """What a test sees of a transport that is in an actor."""

    node: Any
    name: str
    rank: int
    size: int
    capabilities: Capabilities


def in_actors(nodes, transport, generations, deadline):
    """Form a world of `nodes` -> by rank, what is `Placed` or the error that kept it out."""
    import ray

    opened = [node.open.remote(transport, loopback=True, cores=()) for node in nodes]
    addresses = ray.get(opened, timeout=60)
    joining = [
        node.connect.remote(addresses, rank=rank, generation=generation, deadline=deadline)
        for rank, (node, generation) in enumerate(zip(nodes, generations, strict=True))
    ]
    for node, joined in zip(nodes, joining, strict=True):
        try:
            ray.get(joined, timeout=60)
            told = node.__ray_call__.remote(
                lambda self: (
                    [getattr(self._transport, name) for name in ("name", "rank", "size")]
                    + [self._transport.capabilities]
                )
            )
            yield Placed(node, *ray.get(told, timeout=60))
        except TransportError as error:
            yield error


def in_threads(world, transport, generations, deadline):
    """Form a world of threads -> by rank, a transport or the error that kept it out."""
    endpoints = [open_endpoint(transport, "127.0.0.1", home=home_of(r)) for r in range(world)]
    addresses = [endpoint.address for endpoint in endpoints]

    def join(rank):
        try:
            return endpoints[rank].connect(
                addresses, rank=rank, generation=generations[rank], deadline=deadline
            )
        except TransportError as error:
            return error

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(join, range(world)))


@pytest.fixture
def join(request):
    """`join(generations, transport, deadline=...)` -> what came of each process of a world, by
    rank: its transport, or the error that kept it out."""
    with ExitStack() as stack:

        def make(generations, transport, deadline=DEADLINE):
            world = len(generations)
            if transport == OBJECT_STORE:
                nodes = request.getfixturevalue("nodes")(world)
                return list(in_actors(nodes, transport, generations, deadline))
            outcomes = in_threads(world, transport, generations, deadline)
            for made in outcomes:
                if not isinstance(made, TransportError):
                    stack.callback(made.close)
            return outcomes

        yield make


@pytest.fixture
def connect(join):
    """`connect(world, transport="gloo", deadline=...)` -> the connected transports, by rank.

    Those of `object_store` are in actors: what is done with them is done by `everywhere`.
    """

    def make(world, transport="gloo", deadline=DEADLINE, generation=1):
        outcomes = join([generation] * world, transport, deadline)
        for outcome in outcomes:
            if isinstance(outcome, TransportError):
                raise outcome
        return outcomes

    return make


@pytest.fixture
def everywhere():
    """`everywhere(transports, do)` -> [do(transport) for each], at once, one thread or actor each.

    In an actor, what `do` changes of a test's own is the actor's copy.
    """

    def run(transports, do):
        if isinstance(transports[0], Placed):
            return run_in_actors(transports, do)
        # the number of compute threads is a setting of each thread
        one_each = {"initializer": torch.set_num_threads, "initargs": (1,)}
        with ThreadPoolExecutor(len(transports), **one_each) as pool:
            calls = [pool.submit(do, transport) for transport in transports]
            return [call.result(timeout=90) for call in calls]

    return run


def run_in_actors(transports, do):
    import ray

    def with_own(node):
        torch.set_num_threads(1)
        return do(node._transport)

    calls = [placed.node.__ray_call__.remote(with_own) for placed in transports]
    return ray.get(calls, timeout=90)


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
    two hosts, as far as `transport: auto` goes. `first_step` is of servers that are restored.
    """

    def run(cell, seed=0, repeat=0, prepare=None, apart=False, first_step=0):
        homes = [home_of(rank) if apart else "one" for rank in range(cell.processes)]
        hosts = [dataclasses.replace(this_host(), home=home) for home in homes]
        transports = connect(cell.processes, realised_transport(cell, hosts))
        trial = Trial(cell=cell, repeat=repeat, seed=seed)
        job = Job(trial=trial, generation=7, folder=".", first_step=first_step)
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
