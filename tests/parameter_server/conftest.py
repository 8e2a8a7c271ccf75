"""Workers that keep to the protocol, shards that are asked twice or restarted, and what must hold.

Every decision is held against this file's own count of what was delivered and settled, never
against what a core says of itself.
"""

import dataclasses
import json
import math

import pytest

from psbench.parameter_server import (
    Apply,
    Asynchronous,
    BoundedStaleness,
    Drop,
    InTurn,
    Push,
    Reply,
    ShardCore,
    Staleness,
    Synchronous,
)

SHARDS = 2
MUST = ("push", "deliver", "finish")  # what workers do without being asked

RULES = {
    "synchronous": Synchronous(),
    "backup of 1": Synchronous(backup=1),
    "backup of 2": Synchronous(backup=2),
    "asynchronous": Asynchronous(),
    "ssp 0": BoundedStaleness(bound=0),
    "ssp 1": BoundedStaleness(bound=1),
    "ssp inf": BoundedStaleness(bound=math.inf),
    "ssp 0, clock": BoundedStaleness(bound=0, reads="clock"),
    "ssp 1, clock": BoundedStaleness(bound=1, reads="clock"),
    "in turn, 0": InTurn(),
    "in turn, 2": InTurn(staleness=Staleness(weights={2: 1})),
    "in turn, 0 or 3": InTurn(staleness=Staleness(weights={0: 1, 3: 1})),
}


@dataclasses.dataclass
class Worker:
    """A member as one shard knows it."""

    first_clock: int = 0
    known: int = 0  # version of its parameters
    log: tuple = ()  # its pushes
    delivered: int = 0  # of them
    settled: int = 0
    answered: bool = True
    told_to_end: bool = False

    @property
    def clock(self):
        return self.first_clock + self.delivered


@dataclasses.dataclass
class Shard:
    """A core and its workers, by rank."""

    core: ShardCore
    workers: dict
    version: int = 0
    restarted: bool = False

    def copy(self):
        core = object.__new__(type(self.core))
        for name, value in vars(self.core).items():
            kept = value.copy() if isinstance(value, dict | list | set) else value
            setattr(core, name, kept)
        workers = {rank: dataclasses.replace(worker) for rank, worker in self.workers.items()}
        return Shard(core, workers, self.version, self.restarted)

    def key(self, rule, ends_at):
        """What decides of all that can follow."""

        def seen(version):
            """A version, as far as it matters under the rule."""
            if isinstance(rule, InTurn):
                return version
            return version == self.version if rule.sums_shares else True

        def brief(push):
            return push.worker, push.seq, seen(push.pulled_version)

        state = vars(self.core)
        return (
            self.version if isinstance(rule, InTurn) else min(self.version, ends_at),
            () if rule.sums_shares else tuple(state["_clocks"].items()),
            tuple(map(brief, state["_pending"])),
            tuple(sorted(state["_waiting"])),
            tuple(
                (
                    rank,
                    worker.first_clock if isinstance(rule, BoundedStaleness) else 0,
                    worker.delivered,
                    worker.settled,
                    worker.answered,
                    worker.told_to_end,
                    seen(worker.known),
                    tuple(map(brief, worker.log[max(0, worker.delivered - 1) :])),
                )
                for rank, worker in sorted(self.workers.items())
            ),
        )


@dataclasses.dataclass
class World:
    """Shards that the same workers push to, `pushes` times each, or until the last shard, having
    made the version `ends_at`, tells them to end; the rest are budgets."""

    rule: object
    shards: list
    ranks: range
    pushes: int
    ends_at: int = 0
    joins: int = 0
    leaves: int = 0
    repeats: int = 0
    restarts: int = 0

    def copy(self):
        return dataclasses.replace(self, shards=[shard.copy() for shard in self.shards])

    def key(self):
        shards = [shard.key(self.rule, self.ends_at) for shard in self.shards]
        if not self.ends_at:
            shards.sort()  # which is which is all one
        return *shards, self.joins, self.leaves, self.repeats, self.restarts

    def moves(self):
        """Yield (kind, rank, shard): what may happen next."""
        for rank in self.shards[0].workers:
            views = [shard.workers[rank] for shard in self.shards]
            if all(view.answered and view.delivered == len(view.log) for view in views):
                over = len(views[0].log) == self.pushes or any(view.told_to_end for view in views)
                yield ("finish" if over else "push", rank, None)
            for index, view in enumerate(views):
                if view.delivered < len(view.log) and view.answered:
                    yield ("deliver", rank, index)
                if view.delivered and (self.repeats or self._is_owed(rank, index)):
                    yield ("repeat", rank, index)
            if self.leaves:
                yield ("leave", rank, None)
        if self.joins:
            for rank in self.ranks:
                yield ("join", rank, None)
        if self.restarts:
            for index in range(SHARDS):
                yield ("restart", None, index)

    def _is_owed(self, rank, index):
        """Whether a restarted core forgot that this worker waits."""
        shard = self.shards[index]
        waits = not shard.workers[rank].answered
        return shard.restarted and waits and rank not in shard.core._waiting

    def make(self, move):
        """Make a move. Raises AssertionError where a decision on it is wrong."""
        kind, rank, index = move
        match kind:
            case "push":
                for shard in self.shards:
                    worker = shard.workers[rank]
                    push = Push(worker=rank, seq=len(worker.log), pulled_version=worker.known)
                    worker.log = (*worker.log, push)
            case "deliver":
                worker = self.shards[index].workers[rank]
                worker.delivered += 1
                self._tell(index, worker)
            case "repeat":
                self.repeats -= not self._is_owed(rank, index)
                self._tell(index, self.shards[index].workers[rank])
            case "leave" | "finish":
                self.leaves -= kind == "leave"
                for shard in self.shards:
                    decisions = self._without(shard, rank, shard.core.on_leave(rank))
                    self._check(shard, decisions)
            case "join":
                self.joins -= 1
                for shard in self.shards:
                    self._join(shard, rank)
            case "restart":
                self.restarts -= 1
                self._restart(self.shards[index])

    def _tell(self, index, worker):
        """Deliver its last delivered push to a shard, perhaps again: its answer may be lost."""
        worker.answered = False
        shard = self.shards[index]
        self._check(shard, shard.core.on_push(worker.log[worker.delivered - 1]))

    def _without(self, shard, rank, decisions):
        """Forget a worker; return the decisions but those that drop what it had delivered."""
        worker = shard.workers.pop(rank, None)
        open_seqs = range(worker.settled, worker.delivered) if worker else ()
        drops = decisions[: len(open_seqs)]
        assert [(d.push.worker, d.push.seq) for d in drops] == [(rank, seq) for seq in open_seqs]
        assert all(isinstance(drop, Drop) for drop in drops)
        return decisions[len(open_seqs) :]

    def _join(self, shard, rank):
        decisions = self._without(shard, rank, shard.core.on_join(rank))
        clocks = [other.first_clock + other.settled for other in shard.workers.values()]
        if self.rule.sums_shares or isinstance(self.rule, InTurn):
            clocks = []
        shard.workers[rank] = Worker(first_clock=min(clocks, default=0), answered=False)
        assert decisions[0] == Reply(worker=rank, seq=-1, version=shard.version)
        self._check(shard, decisions)

    def _restart(self, shard):
        """End the core and begin with what it last said of its state; what it had heard and not
        settled is delivered again."""
        core = ShardCore(shard.core.rule, [])
        core.restore(json.loads(json.dumps(shard.core.snapshot())))
        shard.core, shard.restarted = core, True
        for worker in shard.workers.values():
            if worker.delivered > worker.settled:
                worker.delivered, worker.answered = worker.settled, True

    def _check(self, shard, decisions):
        """Hold a shard's decisions against what was delivered to it, and note what they settle."""
        for decision in decisions:
            if isinstance(decision, Reply):
                self._check_answer(shard, decision)
                continue
            is_made = isinstance(decision, Apply)
            parts = decision.contributions if is_made else (decision.push,)
            for part in parts:
                worker = shard.workers[part.worker]
                # of what was delivered, the next one not settled: exactly once, in order
                assert part.seq == worker.settled < worker.delivered
                assert part.staleness == shard.version - worker.log[part.seq].pulled_version
                worker.settled += 1
            if is_made:
                shard.version += 1
                assert decision.version == shard.version
                self._check_version(shard, parts)
            else:
                self._check_drop(shard, *parts)

    def _check_version(self, shard, parts):
        rule, update = self.rule, shard.version - 1
        if rule.sums_shares:
            ranks = [part.worker for part in parts]
            assert ranks == sorted(set(ranks))
            assert len(parts) == max(1, len(shard.workers) - rule.backup)
            assert all(part.staleness == 0 for part in parts)
            return
        (part,) = parts
        if isinstance(rule, InTurn):
            assert part.staleness == min(update, rule.staleness.of(update))
        if isinstance(rule, BoundedStaleness) and rule.reads == "clock":
            # all had pushed that clock, and lower ones come first, of equals lower ranks
            own = shard.workers[part.worker]
            clock = own.first_clock + own.settled - 1
            assert all(other.clock > clock for other in shard.workers.values())
            rest = [
                (other.first_clock + other.settled, rank) for rank, other in shard.workers.items()
            ]
            assert min(rest) > (clock, part.worker)

    def _check_drop(self, shard, part):
        if isinstance(self.rule, InTurn):
            update = shard.version
            assert part.staleness != min(update, self.rule.staleness.of(update))
        else:
            assert self.rule.backup
            assert part.staleness > 0

    def _check_answer(self, shard, answer):
        rule, worker = self.rule, shard.workers[answer.worker]
        assert not worker.answered
        assert answer.seq == worker.delivered - 1
        if isinstance(rule, InTurn):
            assert max(0, shard.version - rule.oldest_read) <= answer.version <= shard.version
        else:
            assert answer.version == shard.version
        if isinstance(rule, BoundedStaleness):
            slowest = min(other.clock for other in shard.workers.values())
            assert worker.clock - slowest <= rule.bound or not worker.log
        if not (isinstance(rule, BoundedStaleness) and rule.reads == "clock"):
            assert worker.settled == worker.delivered
        assert answer.version >= worker.known or isinstance(rule, InTurn)
        worker.known, worker.answered = answer.version, True
        if self.ends_at and shard is self.shards[-1]:
            worker.told_to_end = shard.version >= self.ends_at

    def is_stuck(self):
        """Whether workers are left, and none can do anything."""
        owed = any(
            self._is_owed(rank, index)
            for index, shard in enumerate(self.shards)
            for rank in shard.workers
        )
        return bool(self.shards[0].workers) and not (
            owed or any(kind in MUST for kind, _, _ in self.moves())
        )


def new_world(make_core, *, workers=3, pushes=3, **budgets):
    """A world of cores that `make_core` gives for its members."""
    shards = [
        Shard(make_core(range(workers)), {rank: Worker() for rank in range(workers)})
        for _ in range(SHARDS)
    ]
    return World(shards[0].core.rule, shards, range(workers), pushes, **budgets)


def explore(world):
    """Visit every state that can be reached; return how many there are."""
    seen, todo = {world.key()}, [world]
    while todo:
        world = todo.pop()
        assert not world.is_stuck(), "workers wait for ever"
        for move in world.moves():
            after = world.copy()
            after.make(move)
            key = after.key()
            if key not in seen:
                seen.add(key)
                todo.append(after)
    return len(seen)


@pytest.fixture(scope="session", name="new_world")
def _new_world():
    return new_world


@pytest.fixture(scope="session", name="explore")
def _explore():
    return explore


@pytest.fixture(params=sorted(RULES))
def rule(request):
    """Each consistency rule, with each kind of parameter."""
    return RULES[request.param]
