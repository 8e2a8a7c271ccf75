"""Watches over the processes of a trial: fetches their steps, and finds out who failed."""

from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from psbench.errors import PeerLost, PeerTimeout, PsbenchError, TrialError
from psbench.live.placement import Member
from psbench.results import StepRow

_DRAIN_SECONDS = 1.0
_ANSWER_SECONDS = 15.0
"""A process whose control thread does not answer for so long is taken to hang."""
_LAST_WORDS_SECONDS = 2.0


def gather(members: list[Member], calls: list[Any], *, seconds: float) -> list[Any]:
    """Return the results of one call to each member, in order.

    Raises what the first that failed raised, PeerLost or PeerTimeout with its name.
    """
    ready, late = ray.wait(calls, num_returns=len(calls), timeout=seconds)
    for member, call in zip(members, calls, strict=True):
        if call in ready:
            _check(member, call)
    if late:
        names = [m.name for m, call in zip(members, calls, strict=True) if call in late]
        raise PeerTimeout(f"{', '.join(names)} did not answer within {seconds:g} s")
    return ray.get(calls)


def watch(
    members: list[Member], calls: list[Any], stop: Callable[[], bool]
) -> Iterator[list[StepRow]]:
    """Yield finished steps once a second until all `calls`, one a member, have ended well.

    Raises the error of the process that is at fault: one that died before one that complains of
    it. Raises KeyboardInterrupt, after a last drain, once `stop()` says so.
    """
    pending = list(calls)
    while pending:
        done, pending = ray.wait(pending, num_returns=len(pending), timeout=_DRAIN_SECONDS)
        failed = [call for call in done if _error(call) is not None]
        if failed:
            yield from _last_words(members)
            _blame(members, calls)
        yield _drain(members)
        if stop():
            raise KeyboardInterrupt


def _drain(members: list[Member]) -> list[StepRow]:
    calls = [member.actor.drain.remote() for member in members]
    return [row for rows in gather(members, calls, seconds=_ANSWER_SECONDS) for row in rows]


def _last_words(members: list[Member]) -> Iterator[list[StepRow]]:
    """Yield what can still be had of the steps of a trial that failed."""
    calls = [member.actor.drain.remote() for member in members]
    ready, _ = ray.wait(calls, num_returns=len(calls), timeout=_LAST_WORDS_SECONDS)
    for call in ready:
        if _error(call) is None:
            yield ray.get(call)


def _blame(members: list[Member], calls: list[Any]) -> None:
    """Raise for the process at fault: dead ones first, then silent ones, then whoever complains."""
    pings = [member.actor.drain.remote() for member in members]
    ray.wait(pings, num_returns=len(pings), timeout=_ANSWER_SECONDS)
    complaints: list[tuple[Member, BaseException]] = []
    for member, ping, call in zip(members, pings, calls, strict=True):
        error = _error(ping)
        if isinstance(error, RayActorError):
            raise PeerLost(f"{member.name} (pid {member.host.pid} on {member.host.name}) died")
        if isinstance(error, GetTimeoutError):
            raise PeerTimeout(
                f"{member.name} (pid {member.host.pid} on {member.host.name}) does not answer"
            )
        failure = _error(call)
        if failure is not None and not isinstance(failure, GetTimeoutError):
            complaints.append((member, failure))
    member, complaint = complaints[0]
    raise _told(member, complaint) from complaint


def _check(member: Member, call: Any) -> None:
    error = _error(call)
    if isinstance(error, RayActorError):
        raise PeerLost(f"{member.name} (pid {member.host.pid} on {member.host.name}) died")
    if error is not None:
        raise _told(member, error) from error


def _told(member: Member, error: BaseException) -> PsbenchError:
    """Return an error raised in a process as one of ours, with the name of the process."""
    cause = error.cause if isinstance(error, RayTaskError) else error
    if isinstance(cause, PsbenchError):
        return type(cause)(f"{member.name}: {cause}")
    return TrialError(f"{member.name}: {type(cause).__name__}: {cause}")


def _error(call: Any) -> BaseException | None:
    try:
        ray.get(call, timeout=0)
    except (RayError, GetTimeoutError) as error:
        return error
    return None
