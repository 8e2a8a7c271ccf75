"""Histories of workers that keep to the protocol, and what must hold of each.

`play` makes moves and logs each with what a core decided on it; the checks read nothing but the
log.
"""

import dataclasses

import pytest

from psbench.parameter_server import Apply, Push, Reply


@dataclasses.dataclass(frozen=True)
class Move:
    """What a worker does: push, repeat a push, pull, leave or join."""

    kind: str
    worker: int
    push: Push | None = None


@dataclasses.dataclass(frozen=True)
class Entry:
    """A move, what the core decided on it, and who was a member after it."""

    move: Move
    decisions: tuple
    members: frozenset


class Workers:
    """Workers that wait for the answer to a push before they do anything but repeat it or leave."""

    def __init__(self, world):
        self.world = world
        self.known = dict.fromkeys(range(world), 0)  # each member's version of the parameters
        self.sent = {worker: [] for worker in range(world)}
        self.waiting = set()

    def moves(self):
        for worker in range(self.world):
            if worker not in self.known:
                yield Move("join", worker)
                continue
            yield Move("leave", worker)
            sent = self.sent[worker]
            for push in sent[-2:]:  # the last delivered again, or the one before it, late
                yield Move("repeat", worker, push)
            if worker not in self.waiting:
                yield Move("pull", worker)
                version = self.known[worker]
                yield Move(
                    "push", worker, Push(worker=worker, seq=len(sent), pulled_version=version)
                )

    def repeat(self, worker):
        return Move("repeat", worker, self.sent[worker][-1])

    def make(self, move, core):
        decisions = deliver(core, move)
        if move.kind == "push":
            self.sent[move.worker].append(move.push)
            self.waiting.add(move.worker)
        elif move.kind in ("leave", "join"):
            self.waiting.discard(move.worker)
            self.sent[move.worker] = []
            self.known.pop(move.worker, None)
        for reply in decisions:
            if isinstance(reply, Reply):
                self.known[reply.worker] = reply.version
                self.waiting.discard(reply.worker)
        return Entry(move, tuple(decisions), frozenset(self.known))


def deliver(core, move):
    """Return what the core decides on a move."""
    match move.kind:
        case "push" | "repeat":
            return core.on_push(move.push)
        case "pull":
            return core.on_pull(move.worker)
        case "leave":
            return core.on_leave(move.worker)
    return core.on_join(move.worker)


def play(core, workers, choose, num_moves):
    """Return the log of `num_moves` moves, each picked by `choose` from those that are possible."""
    return [workers.make(choose(list(workers.moves())), core) for _ in range(num_moves)]


def all_histories(make_core, world, num_moves):
    """Yield the log of every sequence of moves of that length."""
    path = []
    while True:
        sizes, here = [], list(path)

        def choose(moves, sizes=sizes, here=here):
            if len(here) == len(sizes):
                here.append(0)
            sizes.append(len(moves))
            return moves[here[len(sizes) - 1]]

        yield play(make_core(range(world)), Workers(world), choose, num_moves)
        path = here
        while path and path[-1] + 1 == sizes[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1


def check_versions(log):
    """Versions go up by one, and an answer carries the one there is."""
    version = 0
    for entry in log:
        for decision in entry.decisions:
            version += isinstance(decision, Apply)
            assert decision.version == version


def check_exactly_once(log):
    """What is applied was delivered and not applied before; who is answered has been applied."""
    unapplied = {}
    for entry in log:
        move = entry.move
        if move.kind == "push":
            unapplied[move.worker] = move.push.seq
        elif move.kind in ("leave", "join"):
            unapplied.pop(move.worker, None)
        for decision in entry.decisions:
            if isinstance(decision, Apply):
                for part in decision.contributions:
                    assert unapplied.pop(part.worker, None) == part.seq
            else:
                assert decision.worker not in unapplied


def check_staleness(log):
    """It is the versions made between pull and apply, and adds up to the span of versions seen."""
    pushed, known, spans, sums, version = {}, {}, {}, {}, 0
    for entry in log:
        move = entry.move
        if move.kind == "push":
            pushed[move.worker] = move.push.pulled_version
        fresh = {move.worker} if move.kind == "push" else set()
        for decision in entry.decisions:
            if isinstance(decision, Apply):
                for part in decision.contributions:
                    assert part.staleness == version - pushed[part.worker]
                    sums[part.worker] = sums.get(part.worker, 0) + part.staleness + 1
                    fresh.add(part.worker)
                version += 1
                continue
            worker = decision.worker
            if worker in fresh:  # the answer to a push; a pull or a repeat skips versions
                spans[worker] = spans.get(worker, 0) + decision.version - known.get(worker, 0)
            known[worker] = decision.version
    for worker in spans.keys() | sums.keys():
        assert sums.get(worker) == spans.get(worker)


def check_answers(log):
    """Nobody is answered who asked nothing, or twice, or with a seq not the last applied."""
    asked, applied = set(), {}
    for entry in log:
        move = entry.move
        asked.add(move.worker)
        if move.kind in ("leave", "join"):
            applied[move.worker] = -1
        if move.kind == "leave":
            asked.discard(move.worker)
        for decision in entry.decisions:
            if isinstance(decision, Apply):
                applied.update({part.worker: part.seq for part in decision.contributions})
            else:
                assert decision.worker in asked
                assert decision.seq == applied.get(decision.worker, -1)
                asked.discard(decision.worker)


def check_progress(log):
    """Pulls and joins are answered at once; never do all members wait."""
    waiting = set()
    for entry in log:
        waiting.add(entry.move.worker)
        waiting -= {d.worker for d in entry.decisions if isinstance(d, Reply)}
        waiting &= entry.members
        assert entry.move.kind in ("push", "repeat", "leave") or entry.move.worker not in waiting
        assert not entry.members or waiting != entry.members


def check_synchronous(log):
    """A version has one part of each member, in rank order; all members are answered after it."""
    for entry in log:
        if any(isinstance(decision, Apply) for decision in entry.decisions):
            made, *answers = entry.decisions
            assert [part.worker for part in made.contributions] == sorted(entry.members)
            assert [answer.worker for answer in answers] == sorted(entry.members)


def check_asynchronous(log):
    """A push is applied at once, alone, and answered with the version it made."""
    for entry in log:
        kinds = [type(decision) for decision in entry.decisions]
        if entry.move.kind != "push":
            assert Apply not in kinds
            continue
        assert kinds == [Apply, Reply]
        made, answer = entry.decisions
        assert [part.worker for part in made.contributions] == [entry.move.worker]
        assert (answer.worker, answer.version) == (entry.move.worker, made.version)


CHECKS = (check_versions, check_exactly_once, check_staleness, check_answers, check_progress)
CHECKS_OF = {
    "synchronous": (*CHECKS, check_synchronous),
    "asynchronous": (*CHECKS, check_asynchronous),
}


@pytest.fixture(scope="session")
def checks():
    """The checks of each rule, by the rule's name and their own (without "check_")."""
    return {
        rule: {check.__name__.removeprefix("check_"): check for check in of_rule}
        for rule, of_rule in CHECKS_OF.items()
    }


@pytest.fixture(scope="session", name="deliver")
def _deliver():
    return deliver


@pytest.fixture(scope="session", name="play")
def _play():
    return play


@pytest.fixture(scope="session", name="all_histories")
def _all_histories():
    return all_histories


@pytest.fixture(scope="session", name="new_workers")
def _new_workers():
    return Workers
