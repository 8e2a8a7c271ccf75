"""Synchronous servers in virtual time, a step at once: what `by_events` comes to, in arrays.

A server that waits for all workers answers none before it has heard all. So a step is four rows of
messages, each in an order that is known once it is known when they are ready: out of each worker,
into each server, and back. With p workers and s servers that is a few passes over arrays of p s.
"""

import math
from collections.abc import Iterator

import numpy as np

from psbench.network import Topology
from psbench.parts import part_sizes
from psbench.results import StepRow
from psbench.simulated.costs import Costs, FloatArray
from psbench.simulated.ending import Ending
from psbench.simulated.moved import Moved
from psbench.simulated.vectors import Vectors
from psbench.spec import ParameterServer
from psbench.trial import Plan

_MOST_TOLD = 65_536  # pushes of a step, of which rows say when each was answered


def goes_in_step(plan: Plan, vectors: Vectors, topology: Topology) -> bool:
    """Say whether a trial is of synchronous servers, each with one shard and a host, that wait for
    all workers; of workers with a host each, that push at once all they have computed; and of time
    alone."""
    strategy = plan.trial.cell.strategy
    return (
        isinstance(strategy, ParameterServer)
        and plan.rule().lock_step
        and strategy.bucket is None
        and not strategy.overlap
        and topology.shares_nothing
        and not vectors.is_real
    )


class ServedInStep:
    """A trial of workers that go in step, from its first step to its last."""

    def __init__(self, plan: Plan, vectors: Vectors, topology: Topology) -> None:
        cell = self._cell = plan.trial.cell
        self._workers, self._servers = cell.workers, cell.servers
        self._is_told = self._workers * self._servers <= _MOST_TOLD
        self._costs = Costs(plan, topology, vectors.numel * vectors.itemsize)
        link = topology.between
        self._nbytes = part_sizes(vectors.numel, cell.servers) * vectors.itemsize
        nbytes = self._nbytes.astype(np.float64)
        self._hold: FloatArray = link.overhead + nbytes * link.byte_time
        self._wire = link.overhead + link.latency
        self._update: FloatArray = self._workers * (nbytes * link.reduce_time)
        self._samples: list[int] = part_sizes(cell.global_batch, cell.workers).tolist()
        self._now = np.zeros(cell.workers)
        self._worker_free = np.zeros((2, cell.workers))  # ports, out and in
        self._server_free = np.zeros((2, cell.servers))
        self._begun = np.zeros(cell.servers)  # when each server's timed part began
        self._ended = np.zeros(cell.servers)

    def run(self) -> Iterator[list[StepRow]]:
        """Yield the rows of all workers, a step at a time."""
        for step in range(self._cell.steps):
            began, computed = self._now.copy(), self._compute(step)
            entered = self._now.copy()
            sent, turned = self._push(entered)
            heard = turned.max(axis=1)
            updated = heard + self._update
            if step + 1 == self._cell.warmup:
                self._begun = updated
            self._ended = updated
            came = self._answer(updated)
            self._now = came.max(axis=0)
            yield list(
                self._rows(step, began, computed, entered, sent, turned, heard, updated, came)
            )

    def ending(self) -> Ending:
        """Return how it went, once all steps have been yielded."""
        cell, workers, servers = self._cell, self._workers, self._servers
        timed = cell.steps - cell.warmup
        sending = timed - (cell.warmup == 0)  # the last version is answered after the end
        each = cell.steps * workers * servers
        moved = np.zeros((4, workers + servers), dtype=np.int64)
        messages = int(np.count_nonzero(self._nbytes))
        moved[:, :workers] = [[self._nbytes.sum()]] * 2 + [[messages]] * 2
        moved[:2, workers:] = workers * self._nbytes
        moved[2:, workers:] = workers * (self._nbytes > 0)
        busy = workers * self._hold
        return Ending(
            status="ok",
            steps=cell.steps,
            samples=timed * cell.global_batch,
            seconds=float(self._ended[-1] - self._begun[-1]),
            checkpoints=(),
            fields=Moved(moved * cell.steps).columns()
            | {
                "pushes_sent": each,
                "pushes_acknowledged": each,
                "pushes_applied": each,
                "pushes_dropped": 0,
                "pushes_left": 0,
                "server_receiving_s": tuple((timed * busy).tolist()),
                "server_applying_s": tuple((timed * self._update).tolist()),
                "server_sending_s": tuple((sending * busy).tolist()),
            },
        )

    def _compute(self, step: int) -> FloatArray:
        """Compute; return how long each worker did."""
        parts = self._cell.accumulate
        seconds = self._costs.compute_all(step, parts)
        computed = np.zeros(self._workers)
        for _ in range(parts):
            self._now = self._now + seconds
            computed = computed + seconds
        return computed

    def _push(self, entered: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Push; return when each push had left its worker, and when its server turned to it, which
        is when it was all there; shape (servers, workers)."""
        ready = np.empty((self._servers, self._workers))
        sent = np.empty_like(ready) if self._is_told else ready[:0]
        free = self._worker_free[0]
        for server in range(self._servers)[::-1]:  # a backward pass begins with the last layers
            begin = np.maximum(entered, free)
            free = begin + self._hold[server]
            ready[server] = begin + self._wire
            if len(sent):
                sent[server] = free
        self._worker_free[0] = free
        turned, self._server_free[1] = _served(ready.T, self._server_free[1], self._hold)
        return sent, turned.T

    def _answer(self, updated: FloatArray) -> FloatArray:
        """Answer workers by rank; return when each had its answers, shape (servers, workers)."""
        ready = np.empty((self._servers, self._workers))
        free = self._server_free[0]
        for worker in range(self._workers):
            begin = np.maximum(updated, free)
            free = begin + self._hold
            ready[:, worker] = begin + self._wire
        self._server_free[0] = free
        came, self._worker_free[1] = _served(ready, self._worker_free[1], self._hold[:, None])
        return came

    def _rows(
        self,
        step: int,
        began: FloatArray,
        computed: FloatArray,
        entered: FloatArray,
        sent: FloatArray,
        turned: FloatArray,
        heard: FloatArray,
        updated: FloatArray,
        came: FloatArray,
    ) -> Iterator[StepRow]:
        told = self._is_told
        # as they are pushed: the last server's first
        updates = (tuple(heard[::-1].tolist()), tuple(updated[::-1].tolist())) if told else ((), ())
        longest_update = float((updated - heard).max())
        held = np.zeros(self._workers)
        for server in range(self._servers):
            spent = updated[server] - heard[server]
            np.maximum(held, updated[server] - turned[server] - spent, out=held)
        nbytes, messages = int(self._nbytes.sum()), int(np.count_nonzero(self._nbytes))
        for rank in range(self._workers):
            enter, exit_ = float(entered[rank]), float(came[0, rank])
            several = told and self._servers > 1
            yield StepRow(
                rank=rank,
                step=step,
                samples=self._samples[rank],
                warmup=step < self._cell.warmup,
                loss=math.nan,
                begin_s=float(began[rank]),
                compute_s=float(computed[rank]),
                enter_s=enter,
                exit_s=exit_,
                update_s=0.0,
                server_update_s=longest_update,
                queue_s=math.nan,
                end_s=float(self._now[rank]),
                pulled_version=step,
                version=step + 1,
                staleness=0,
                bytes_sent=nbytes,
                bytes_received=nbytes,
                messages_sent=messages,
                messages_received=messages,
                enters=(enter,) * self._servers if several else (),
                exits=tuple(came[::-1, rank].tolist()) if several else (),
                sents=tuple(sent[::-1, rank].tolist()) if told else (),
                update_begins=updates[0],
                update_ends=updates[1],
                held_s=float(held[rank]),
                version_spread=0,
                turns=tuple(turned[::-1, rank].tolist()) if told else (),
            )


def _served(ready: FloatArray, free: FloatArray, hold: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return when ports have taken messages, in place of `ready`, and from when on they are free.

    Each column of `ready`, shape (messages, ports), is of the messages of one port, which takes
    them as they become ready, those of one moment by their order; `hold`, broadcast to that shape,
    is how long each keeps it, and `free`, shape (ports,), from when on it may begin.
    """
    if not (ready[1:] < ready[:-1]).any():
        return _in_turn(ready, free, np.broadcast_to(hold, ready.shape))
    order = np.argsort(ready, axis=0, kind="stable")
    holds = np.broadcast_to(hold, ready.shape)
    if holds.strides[0]:  # not alike for all messages of a port
        holds = np.take_along_axis(holds, order, axis=0)
    done, free = _in_turn(np.take_along_axis(ready, order, axis=0), free, holds)
    np.put_along_axis(ready, order, done, axis=0)
    return ready, free


def _in_turn(
    ready: FloatArray, free: FloatArray, holds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """As `_served`, of messages that become ready one after another."""
    for own, hold in zip(ready, holds, strict=True):
        free = np.maximum(own, free) + hold
        own[:] = free
    return ready, free
