"""The workers and servers of a trial in virtual time, and what happens between them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from psbench.errors import TransportError
from psbench.network import Topology
from psbench.results import StepRow
from psbench.simulated.costs import Costs
from psbench.simulated.ending import Ending
from psbench.simulated.events import EventQueue, wire_over
from psbench.simulated.moved import Moved
from psbench.simulated.served.server import VirtualServer
from psbench.simulated.served.shard import VirtualShard
from psbench.simulated.served.worker import VirtualWorker
from psbench.simulated.vectors import Vectors
from psbench.strategies import Pull, Wait
from psbench.trial import Checkpoint, End, Plan, ServedTrial

_EVENTS = 20_000  # between one look at what is finished and the next


class ServedByEvents:
    """A trial whose workers go through servers, from its first event to its last."""

    def __init__(self, plan: Plan, vectors: Vectors, topology: Topology) -> None:
        self._plan = plan
        self._cell = plan.trial.cell
        self._vectors = vectors
        self._queue = EventQueue()
        self._wire = wire_over(topology, self._queue)
        self._costs = Costs(plan, topology, vectors.numel * vectors.itemsize)
        self._strategy = plan.strategy(vectors.numel, vectors.itemsize)
        self._rows: list[StepRow] = []
        self._workers: list[VirtualWorker] = []
        self._servers = [self._server(number) for number in range(self._cell.servers)]
        self._workers += [self._worker(rank) for rank in range(self._cell.workers)]

    def run(self) -> Iterator[list[StepRow]]:
        """Yield the rows of finished steps, some at a time."""
        self._open()
        for server in self._servers:
            server.begin()
        for worker in self._workers:
            worker.begin()
        going_on = True
        while going_on:
            going_on = self._queue.run(_EVENTS)
            rows = self._rows.copy()
            self._rows.clear()
            yield rows
        waiting = [str(worker.rank) for worker in self._workers if not worker.left]
        if waiting:
            raise TransportError(
                f"nothing is left to happen, and ranks {', '.join(waiting)} wait for an answer"
            )

    def ending(self) -> Ending:
        """Return how it went, once all rows have been yielded."""
        servers, workers = self._servers, self._workers
        trial = servers[-1].trial
        settled = [shard.settlement for server in servers for shard in server.shards]
        moved = [own.moved for own in workers] + [own.moved for own in servers]
        return Ending(
            status="diverged" if trial.end is End.DIVERGED else "ok",
            steps=trial.steps,
            samples=trial.samples,
            seconds=trial.clock.seconds(self._queue.now),
            checkpoints=tuple(self._whole(point) for point in trial.checkpoints),
            fields=Moved(np.array(moved).T).columns()
            | {
                "pushes_sent": sum(worker.pushes_sent for worker in workers),
                "pushes_acknowledged": sum(worker.pushes_answered for worker in workers),
                "pushes_applied": sum(own.applied for own in settled),
                "pushes_dropped": sum(own.dropped for own in settled),
                "pushes_left": sum(own.left for own in settled),
                "server_receiving_s": tuple(server.port_busy[1] for server in servers),
                "server_applying_s": tuple(server.applying_s for server in servers),
                "server_sending_s": tuple(server.port_busy[0] for server in servers),
            },
        )

    def _whole(self, point: Checkpoint) -> Checkpoint:
        """Return a checkpoint of the last server with the parts of the others before its own."""
        parts = [server.part(point.step) for server in self._servers[:-1]]
        return replace(point, parameters=self._vectors.join([*parts, point.parameters]))

    def _server(self, number: int) -> VirtualServer:
        plan, vectors, cell = self._plan, self._vectors, self._cell
        workers = self._workers
        rule = plan.rule()
        per_step = 1 if rule.sums_shares else cell.workers
        shards = [
            VirtualShard(
                span,
                vectors.store(span, self._strategy.outer),
                rule,
                plan.learning_rate(),
                vectors,
                shares=plan.shares(),
                pushes=cell.steps // self._strategy.every,
                seconds=(span.stop - span.start) * vectors.itemsize * self._costs.reduce_time,
            )
            for span in plan.server_spans(vectors.numel, vectors.itemsize, number)
        ]
        return VirtualServer(
            cell.workers + number,
            shards,
            ServedTrial(
                cell,
                versions_per_step=per_step,
                every=self._strategy.every,
                now=lambda: self._queue.now,
            ),
            decides=number == cell.servers - 1,
            queue=self._queue,
            wire=self._wire,
            vectors=vectors,
            answered=lambda message: workers[message.dst].take(message),
        )

    def _worker(self, rank: int) -> VirtualWorker:
        return VirtualWorker(
            rank,
            self._cell,
            self._strategy,
            self._vectors.ranks[rank],
            self._costs,
            numel=self._vectors.numel,
            itemsize=self._vectors.itemsize,
            queue=self._queue,
            wire=self._wire,
            heard=[server.hear for server in self._servers],
            finished=self._rows.append,
        )

    def _open(self) -> None:
        """Let all workers pull what they begin with: that takes no time."""
        for worker in self._workers:
            for command in self._strategy.start():
                if isinstance(command, Pull):
                    shard = command.shard
                    own = self._servers[shard.server].shards[shard.span.index]
                    worker.open(shard, own.open(worker.rank))
                elif not isinstance(command, Wait):
                    self._vectors.ranks[worker.rank].update(command)
