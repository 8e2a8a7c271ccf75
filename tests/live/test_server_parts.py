"""What a server is made of, without a process: outbox, clock, how far a trial is."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psbench.live.outbox import Outbox
from psbench.live.pulled import Pulled
from psbench.parameter_server import Contribution
from psbench.spec import Cell
from psbench.trial import End, ServedTrial, TrialClock


@dataclass
class Sending:
    """A work that notes that it was waited for."""

    done: bool = False

    def wait(self):
        self.done = True

    def synchronize(self):
        self.done = True


@dataclass
class Server:
    """A server's use of its outbox; version v of the parameters is v throughout."""

    workers: int
    outbox: Outbox = field(default_factory=lambda: Outbox(lambda: torch.empty(3)))
    parameters: torch.Tensor = field(default_factory=lambda: torch.zeros(3))
    version: int = 0
    under_way: dict = field(default_factory=dict)
    buffers: set = field(default_factory=set)

    def apply(self):
        self.version += 1
        self.parameters.fill_(self.version)

    def hear_from(self, worker):
        works = self.under_way.pop(worker, (None, None, []))[2]
        self.outbox.confirm(worker)
        assert all(work.done for work in works)

    def answer(self, worker):
        copy = self.outbox.copy(self.parameters, self.version)
        works = [Sending(), Sending()]
        self.outbox.sent(worker, copy, works)
        self.under_way[worker] = (self.version, copy.buffer, works)
        self.buffers.add(copy.buffer.data_ptr())

    def check(self):
        for version, buffer, works in self.under_way.values():
            assert buffer.tolist() == [version] * 3
            assert not any(work.done for work in works)
        assert len({b.data_ptr() for _, b, _ in self.under_way.values()}) == len(
            {version for version, _, _ in self.under_way.values()}
        )
        assert len(self.buffers) <= self.workers + 1


@given(data=st.data(), workers=st.integers(1, 4))
def test_what_is_on_its_way_does_not_change_and_buffers_are_reused(data, workers):
    server = Server(workers)
    for worker in data.draw(st.lists(st.integers(0, workers - 1), max_size=40)):
        server.hear_from(worker)
        if data.draw(st.booleans()):
            server.apply()
        server.answer(worker)
        server.check()


def test_all_workers_of_a_synchronous_version_share_one_copy():
    server = Server(3)
    for _ in range(5):
        for worker in range(3):
            server.hear_from(worker)
        server.apply()
        for worker in range(3):
            server.answer(worker)
        server.check()
    assert len(server.buffers) == 1


def test_a_copy_is_kept_until_its_last_receiver_has_it():
    server = Server(2)
    server.answer(0)
    server.answer(1)
    server.hear_from(0)
    server.apply()
    server.answer(0)  # 1 is still to receive version 0
    server.check()
    assert len(server.buffers) == 2
    for _ in range(10):  # and may be slow
        server.hear_from(0)
        server.apply()
        server.answer(0)
        server.check()
    assert len(server.buffers) == 2


def test_what_a_push_was_computed_from_is_kept_until_it_is_settled():
    server, pulled = Server(2), Pulled()
    server.answer(0)
    for seq in range(3):  # rank 1 pushes and is answered, and only then is 0 heard
        server.answer(1)
        pulled.hold(1, seq, server.outbox.confirm(1))
        server.under_way.pop(1)
        server.apply()
    pushes = [Contribution(worker=1, seq=seq, staleness=0) for seq in range(3)]
    assert [pulled.of(push).tolist() for push in pushes] == [[v] * 3 for v in range(3)]
    pulled.settled(pushes)
    before = len(server.buffers)
    for _ in range(5):
        server.answer(1)
        server.hear_from(1)
        server.apply()
        server.check()  # what is under way to 0 is still version 0
    assert len(server.buffers) == before


def test_a_copy_that_is_kept_for_evaluation_is_never_written_again():
    outbox, parameters = Outbox(lambda: torch.empty(3)), torch.zeros(3)
    kept = outbox.keep(outbox.copy(parameters, 0))
    for version in range(1, 6):
        parameters.fill_(float(version))
        outbox.copy(parameters, version)
    assert kept.tolist() == [0.0, 0.0, 0.0]


def test_the_clock_runs_from_start_to_stop_without_the_pauses():
    clock = TrialClock()
    clock.pause(3.0)  # of the warm-up: not timed anyway
    assert clock.seconds(5.0) == 0.0
    clock.start(10.0)
    assert clock.seconds(25.0) == 15.0
    clock.pause(2.0)
    clock.pause(1.0)
    assert clock.seconds(26.0) == 13.0
    clock.stop(30.0)
    clock.pause(8.0)  # copied after the end
    assert clock.seconds(99.0) == 17.0


@pytest.fixture
def now():
    """The time, in seconds, as the trial reads it: `now.time += 1.0`."""
    now = SimpleNamespace(time=1000.0)
    now.read = lambda: now.time
    return now


@pytest.fixture
def drive(now):
    """`drive(trial, versions, loss=...)`: make versions a second apart, keep them where due."""

    def make(trial, versions, loss=lambda version: 1.0):
        for version, workers in versions:
            now.time += 1.0
            trial.on_version(version, workers, loss(version))
            if trial.evaluation_due(version):
                trial.keep(version, "a copy")

    return make


def cell(workers, steps, **fields):
    """A global batch of 5: with two workers slices of 2 and 3, with three of 1, 2 and 2."""
    task = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
    whole = {"task": task, "batch": {"global": 5}, "strategy": "ps-sync"}
    return Cell(workers=workers, steps=steps, **whole, **fields)


def taken(trial):
    return [(c.step, c.samples, c.seconds) for c in trial.checkpoints]


@pytest.mark.parametrize(
    ("warmup", "samples", "seconds", "checkpoints"),
    [
        # copies after versions 2 and 4 take half a second each
        (0, 25, 5.0, [(2, 10, 2.0), (4, 20, 4.0), (5, 25, 5.0)]),
        (1, 20, 4.0, [(2, 10, 1.0), (4, 20, 3.0), (5, 25, 4.0)]),
        (2, 15, 3.0, [(2, 10, 0.0), (4, 20, 2.0), (5, 25, 3.0)]),
    ],
)
def test_a_synchronous_trial(drive, now, warmup, samples, seconds, checkpoints):
    trial = ServedTrial(cell(2, 5, warmup=warmup, eval_every=2), versions_per_step=1, now=now.read)
    trial.begin()
    drive(trial, [(version, [0, 1]) for version in range(1, 5)])
    assert trial.end is End.GO_ON
    drive(trial, [(5, [0, 1])])
    assert trial.end is End.FINISHED
    assert trial.samples == samples
    assert trial.clock.seconds(now.time) == seconds
    assert taken(trial) == checkpoints


def test_an_asynchronous_trial_counts_p_versions_a_step(drive, now):
    # workers 0, 1, 2 have slices of 1, 2, 2; worker 2 is fast
    pushes = [2, 0, 2, 1, 2, 2, 0, 1, 2]
    trial = ServedTrial(cell(3, 3, warmup=1, eval_every=2), versions_per_step=3, now=now.read)
    trial.begin()
    drive(trial, [(version, [worker]) for version, worker in enumerate(pushes[:8], start=1)])
    assert trial.end is End.GO_ON
    drive(trial, [(9, [2])])
    assert trial.end is End.FINISHED
    assert trial.samples == 2 + 2 + 2 + 1 + 2 + 2  # from the fourth version on
    assert trial.clock.seconds(now.time) == 6.0
    assert taken(trial) == [(2, 5 + 6, 3.0), (3, 5 + 11, 6.0)]


def test_what_is_pushed_after_the_end_is_not_counted(drive, now):
    trial = ServedTrial(cell(2, 2), versions_per_step=2, now=now.read)
    trial.begin()
    drive(trial, [(version, [version % 2]) for version in range(1, 5)])
    before = (trial.end, trial.samples, trial.clock.seconds(now.time), taken(trial))
    assert before == (End.FINISHED, 10, 4.0, [(2, 10, 4.0)])
    drive(trial, [(5, [0])], loss=lambda version: 1e9)
    assert (trial.end, trial.samples, trial.clock.seconds(now.time), taken(trial)) == before


@pytest.mark.parametrize("bad", [10.5, float("nan"), float("inf")])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_loss_that_runs_away_ends_the_trial(drive, now, bad, at):
    trial = ServedTrial(cell(2, 4, warmup=1), versions_per_step=1, now=now.read)
    trial.begin()
    drive(trial, [(v, [0, 1]) for v in range(1, at)])
    assert trial.end is End.GO_ON
    drive(trial, [(at, [0, 1])], loss=lambda version: bad)
    assert trial.end is End.DIVERGED  # also where it would have been the last step
    drive(trial, [(5, [0, 1])])
    assert trial.end is End.DIVERGED
    assert trial.checkpoints == []
    assert trial.samples == 5 * (at - 1)
    assert trial.clock.seconds(now.time) == at - 1


def test_a_trial_that_diverges_while_it_warms_up(drive, now):
    trial = ServedTrial(cell(2, 4, warmup=3), versions_per_step=1, now=now.read)
    trial.begin()
    drive(trial, [(1, [0, 1])], loss=lambda version: float("nan"))
    assert (trial.end, trial.samples) == (End.DIVERGED, 0)
    assert trial.clock.seconds(now.time) == 0.0


def test_a_payload_has_no_loss_and_no_samples(drive, now):
    fields = {"task": {"payload": "4 B"}, "workers": 2, "strategy": "ps-sync"}
    trial = ServedTrial(Cell(steps=3, **fields), versions_per_step=1, now=now.read)
    trial.begin()
    drive(trial, [(v, [0, 1]) for v in (1, 2, 3)], loss=lambda version: None)
    assert (trial.end, trial.samples) == (End.FINISHED, 0)
    assert trial.clock.seconds(now.time) == 3.0
