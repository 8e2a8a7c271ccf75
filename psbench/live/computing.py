"""Gradients that are computed while others are already on their way."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import torch

from psbench.live.device import Device
from psbench.network import ComputeTime
from psbench.training import Progress
from psbench.trial import Plan

_NOBODY = -1
_SHORTEST_SECONDS = 200e-6


class Pace:
    """When computing is as far as it may be, where a spec says that it takes `seconds` from now on:
    the gradients from an element on are known after the share `computed(element)` of them."""

    def __init__(self, seconds: float, computed: Callable[[int], float]) -> None:
        self._seconds = seconds
        self._computed = computed
        self._begun = time.monotonic()

    def keep(self, start: int) -> bool:
        """Sleep until the gradients from element `start` on may be known. False, at once, where
        that is not worth a sleep yet: they are known with those that come next."""
        left = self._begun + self._seconds * self._computed(start) - time.monotonic()
        if 0 < left < _SHORTEST_SECONDS and start > 0:
            return False
        if left > 0:  # even a sleep of nothing would give way to the other thread
            time.sleep(left)
        return True


@dataclass(frozen=True, kw_only=True)
class Paces:
    """The paces at which a rank computes, step after step; see `Pace`."""

    compute_time: ComputeTime
    computed: Callable[[int], float]

    @staticmethod
    def of(plan: Plan, numel: int) -> "Paces | None":
        """Return those of a plan, of flat vectors of `numel` elements; None where it has none."""
        compute_time = plan.compute_time()
        if compute_time is None:
            return None
        computed = partial(plan.share_computed, numel=numel)
        return Paces(compute_time=compute_time, computed=computed)

    def begin(self, rank: int, step: int, parts: int) -> Pace:
        """Return that of one of `parts` passes of a step, which begins now."""
        return Pace(self.compute_time.draw(rank, step) / parts, self.computed)


class Computing:
    """One pass under way: a thread carries it out, another waits for what it knows already.

    On a GPU the first goes on at once, and the other waits for the device to have come as far.
    """

    def __init__(self, pace: Pace | None, device: Device) -> None:
        self._pace = pace
        self._device = device
        self._mark: torch.cuda.Event | None = None
        self._changed = threading.Condition()
        self._known: int | None = None
        self._wanted = _NOBODY
        self._ended = False
        self._error: BaseException | None = None
        self.samples = 0
        self.begun_s = time.monotonic()
        self.ended_s = self.begun_s

    def run(self, compute: Callable[[Progress], int]) -> None:
        """Carry it out: `compute(progress)` returns its sample count."""
        try:
            self.samples = compute(self._tell)
        except BaseException as error:
            self._error = error  # raised where it is waited for
        with self._changed:
            self._ended = True
            self.ended_s = time.monotonic()
            self._changed.notify()

    def wait_for(self, start: int) -> None:
        """Block until the gradients from element `start` on are known."""
        with self._changed:
            self._wanted = start
            self._await(lambda: self._known is not None and self._known <= start)
            self._wanted = _NOBODY
            mark = self._mark
        if mark is not None:
            mark.synchronize()

    def finish(self) -> None:
        """Block until the pass is over."""
        with self._changed:
            self._await(lambda: False)

    def _await(self, come: Callable[[], bool]) -> None:
        """Wait until `come()` or the end of the pass; raise what it raised."""
        self._changed.wait_for(lambda: self._ended or come())
        if self._error is not None:
            raise self._error

    def _tell(self, start: int) -> None:
        if self._pace is not None and not self._pace.keep(start):
            return
        mark = self._device.mark()
        with self._changed:
            self._known, self._mark = start, mark
            if start <= self._wanted:  # a wake for each layer would cost more than it tells
                self._changed.notify()


class ComputeThread:
    """The one thread that computes beside the one that communicates."""

    def __init__(self, device: Device) -> None:
        self._device = device
        # the number of threads that torch computes with is a setting of each thread
        self._pool = ThreadPoolExecutor(
            1,
            thread_name_prefix="psbench-compute",
            initializer=torch.set_num_threads,
            initargs=(torch.get_num_threads(),),
        )

    def start(self, compute: Callable[[Progress], int], pace: Pace | None) -> Computing:
        """Start a pass."""
        computing = Computing(pace, self._device)
        self._pool.submit(computing.run, compute)
        return computing

    def close(self) -> None:
        """Wait for the pass under way, and end the thread."""
        self._pool.shutdown()
