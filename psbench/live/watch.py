"""Watches over the processes of a trial: fetches their steps, and finds out who failed."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from psbench.errors import PeerLost, PeerTimeout, PsbenchError, TrialError, TrialTimeout
from psbench.live.placement import Member
from psbench.units import count

_DRAIN_SECONDS = 1.0
_ANSWER_SECONDS = 15.0
"""A process whose control thread does not answer for so long is taken to be stopped."""
_PING_SECONDS = 5.0
_PROGRESS_SECONDS = 300.0
"""A rank that finishes no step for so long is taken to hang."""

Stop = Callable[[], bool]


def gather(members: list[Member], calls: list[Any], *, seconds: float, stop: Stop) -> list[Any]:
    """Return the results of one call to each member, in order, within `seconds`.

    Raises, as soon as it is known and with the member's name, what a call raised, PeerLost for a
    member that died and PeerTimeout for those that hang; KeyboardInterrupt once `stop()` says so.
    """
    deadline = time.monotonic() + seconds
    pings = Pings(members)
    pending = list(calls)
    while pending:
        done, pending = ray.wait(pending, timeout=_DRAIN_SECONDS)
        for member, call in zip(members, calls, strict=True):
            error = _error(call) if call in done else None
            if error is not None:
                _blame(members, [(member, error)], {})
        if stop():
            raise KeyboardInterrupt
        if pending:
            pings.check()
        if pending and time.monotonic() > deadline:
            late = [m for m, call in zip(members, calls, strict=True) if call in pending]
            # one that is stopped keeps others waiting: it does not answer a ping either
            names = _names(_silent(members) or late)
            raise PeerTimeout(f"{names} did not answer within {seconds:g} s")
    return ray.get(calls)


def watch(
    members: list[Member], calls: list[Any], stop: Stop, *, seconds: float | None = None
) -> Iterator[list[Any]]:
    """Yield finished steps once a second until all `calls`, one a member, have ended well.

    Whatever a member's `drain` gives counts as finished; its `step` says how far the member is.
    Raises the error of the process that is at fault: one that died before one that complains of
    it. Raises TrialTimeout where they take longer than `seconds`, and KeyboardInterrupt once
    `stop()` says so. In all cases the steps that can still be had are yielded before.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    drains = Drains(members)
    pending = list(calls)
    while pending:
        done, pending = ray.wait(pending, num_returns=len(pending), timeout=_DRAIN_SECONDS)
        yield from drains.take()
        failed = [
            (member, error)
            for member, call in zip(members, calls, strict=True)
            if call in done and (error := _error(call)) is not None
        ]
        if failed or drains.late():
            _blame(members, failed, drains.progress)
        if stop():
            raise KeyboardInterrupt
        idle = [m for m, call in zip(members, calls, strict=True) if call in pending]
        if idle and time.monotonic() > deadline:
            raise TrialTimeout(f"not finished within {seconds:g} s: {drains.furthest_behind()}")
        _check_progress(idle, drains)
    yield from drains.rest()


class Pings:
    """Asks each member every now and then whether it is there, and waits for no answer."""

    def __init__(self, members: list[Member]) -> None:
        self._members = members
        self._ask()

    def _ask(self) -> None:
        self._calls = [member.actor.ping.remote() for member in self._members]
        self._asked_s = time.monotonic()

    def check(self) -> None:
        """Raise PeerTimeout for members that have owed an answer for too long."""
        if time.monotonic() - self._asked_s < _ANSWER_SECONDS:
            return
        silent = [
            member
            for member, call in zip(self._members, self._calls, strict=True)
            if isinstance(_error(call), GetTimeoutError)
        ]
        if silent:
            raise PeerTimeout(f"{_names(silent)} did not answer within {_ANSWER_SECONDS:g} s")
        self._ask()


class Drains:
    """One outstanding drain for each member: an answer that comes late is still taken."""

    def __init__(self, members: list[Member]) -> None:
        self._members = members
        self._calls: dict[str, Any] = {}
        self._asked: dict[str, float] = {}
        now = time.monotonic()
        self.progress = {member.name: (-1, now) for member in members if member.is_rank}
        """the last step that each rank finished, and when that was seen"""

    def take(self) -> Iterator[list[Any]]:
        """Ask all that owe no answer, wait up to a second, and yield what came."""
        self._ask()
        yield from self._answers(_DRAIN_SECONDS)

    def rest(self) -> Iterator[list[Any]]:
        """Once all have ended, yield what is left.

        An answer that was owed, or came late, may be from before the end: so all are asked anew.
        """
        if self._calls:
            yield from self._answers(_ANSWER_SECONDS)
        self._ask()
        yield from self._answers(_ANSWER_SECONDS)

    def _ask(self) -> None:
        for member in self._members:
            if member.name not in self._calls:
                self._calls[member.name] = member.actor.drain.remote()
                self._asked[member.name] = time.monotonic()

    def _answers(self, seconds: float) -> Iterator[list[Any]]:
        calls = list(self._calls.values())
        ray.wait(calls, num_returns=len(calls), timeout=seconds)
        for name, call in list(self._calls.items()):
            error = _error(call)
            if error is None:
                del self._calls[name]
                yield self._seen(name, ray.get(call))

    def late(self) -> bool:
        """Say whether a member died, or owes an answer for too long."""
        now = time.monotonic()
        return any(
            isinstance(_error(call), RayActorError) or now - self._asked[name] > _ANSWER_SECONDS
            for name, call in self._calls.items()
        )

    def furthest_behind(self) -> str:
        """Say how far the slowest rank has come."""
        name, (step, _) = min(self.progress.items(), key=lambda item: item[1][0])
        return f"{name} had done {count(step + 1, 'step')}"

    def _seen(self, name: str, rows: list[Any]) -> list[Any]:
        if rows:
            self.progress[name] = (rows[-1].step, time.monotonic())
        return rows


def _check_progress(idle: list[Member], drains: Drains) -> None:
    """Raise PeerTimeout for ranks that are behind all others and have not moved for long."""
    now = time.monotonic()
    ranks = [member for member in idle if member.is_rank]
    if any(now - drains.progress[m.name][1] > _PROGRESS_SECONDS for m in ranks):
        names = _names(_behind(ranks, drains.progress))
        raise PeerTimeout(f"{names} finished no step for {_PROGRESS_SECONDS:g} s")


def _blame(
    members: list[Member],
    failed: list[tuple[Member, BaseException]],
    progress: dict[str, tuple[int, float]],
) -> None:
    """Raise for the process at fault.

    A dead one first, then one that does not answer a ping. Of those that time out waiting for
    others none need be at fault: that is who stays behind and does not complain.
    """
    silent = _silent(members)
    if silent:
        raise PeerTimeout(f"{_names(silent)} does not answer")
    complaining = [member for member, _ in failed]
    for member, error in failed:
        told = _told(member, error)
        quiet = [m for m in members if m.is_rank and m not in complaining]
        if isinstance(told, PeerTimeout) and quiet and progress:
            names = _names(_behind(quiet, progress))
            raise PeerTimeout(f"{names} hangs; {told}") from error
        raise told from error


def _behind(ranks: list[Member], progress: dict[str, tuple[int, float]]) -> list[Member]:
    least = min(progress[member.name][0] for member in ranks)
    return [member for member in ranks if progress[member.name][0] == least]


def _silent(members: list[Member]) -> list[Member]:
    """Return the members that do not answer a ping; raises PeerLost for one that is dead."""
    pings = [member.actor.ping.remote() for member in members]
    ray.wait(pings, num_returns=len(pings), timeout=_PING_SECONDS)
    errors = [_error(ping) for ping in pings]
    for member, error in zip(members, errors, strict=True):
        if isinstance(error, RayActorError):
            raise PeerLost(f"{member} died")
    return [
        member
        for member, error in zip(members, errors, strict=True)
        if isinstance(error, GetTimeoutError)
    ]


def _names(members: list[Member]) -> str:
    return ", ".join(map(str, members))


def _told(member: Member, error: BaseException) -> PsbenchError:
    """Return an error raised in a process as one of ours, with the name of the process."""
    cause = error.cause if isinstance(error, RayTaskError) else error
    if isinstance(cause, PsbenchError):
        return type(cause)(f"{member.name}: {cause}")
    return TrialError(f"{member.name}: {type(cause).__name__}: {cause}")


def _error(call: Any) -> BaseException | None:
    """Return what a call raised, GetTimeoutError where it has not ended, None where it is well."""
    try:
        ray.get(call, timeout=0)
    except (RayError, GetTimeoutError) as error:
        return error
    return None
