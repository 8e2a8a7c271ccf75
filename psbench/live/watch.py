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
_PING_SECONDS = 5.0


def gather(members: list[Member], calls: list[Any], *, seconds: float) -> list[Any]:
    """Return the results of one call to each member, in order, within `seconds`.

    Raises, with the member's name, what the first that failed raised, PeerLost for one that died
    and PeerTimeout for those that hang.
    """
    ready, late = ray.wait(calls, num_returns=len(calls), timeout=seconds)
    for member, call in zip(members, calls, strict=True):
        if call in ready:
            _check(member, call)
    if late:
        waiting = [m for m, call in zip(members, calls, strict=True) if call in late]
        # one that hangs keeps others waiting: it is the one that does not answer a ping either
        culprits = _silent(members, _PING_SECONDS) or waiting
        names = ", ".join(describe(member) for member in culprits)
        raise PeerTimeout(f"{names} did not answer within {seconds:g} s")
    return ray.get(calls)


def watch(
    members: list[Member], calls: list[Any], stop: Callable[[], bool]
) -> Iterator[list[StepRow]]:
    """Yield finished steps once a second until all `calls`, one a member, have ended well.

    Raises the error of the process that is at fault: one that died before one that complains of
    it. Raises KeyboardInterrupt once `stop()` says so. In both cases the steps that can still be
    had are yielded before.
    """
    pending = list(calls)
    while pending:
        done, pending = ray.wait(pending, num_returns=len(pending), timeout=_DRAIN_SECONDS)
        drains = [member.actor.drain.remote() for member in members]
        ray.wait(drains, num_returns=len(drains), timeout=_ANSWER_SECONDS)
        errors = [_error(drain) for drain in drains]
        for drain, error in zip(drains, errors, strict=True):
            if error is None:
                yield ray.get(drain)
        if any(errors) or any(_error(call) is not None for call in done):
            _blame(members, calls)
        if stop():
            raise KeyboardInterrupt


def _blame(members: list[Member], calls: list[Any]) -> None:
    """Raise for the process at fault: dead ones first, then silent ones, then whoever complains."""
    silent = _silent(members, _PING_SECONDS)
    if silent:
        raise PeerTimeout(f"{', '.join(map(describe, silent))} does not answer")
    complaints = ((member, _error(call)) for member, call in zip(members, calls, strict=True))
    for member, complaint in complaints:
        if complaint is not None and not isinstance(complaint, GetTimeoutError):
            raise _told(member, complaint) from complaint


def _silent(members: list[Member], seconds: float) -> list[Member]:
    """Return the members that do not answer a ping; raises PeerLost for one that is dead."""
    pings = [member.actor.ping.remote() for member in members]
    ray.wait(pings, num_returns=len(pings), timeout=seconds)
    errors = [_error(ping) for ping in pings]
    for member, error in zip(members, errors, strict=True):
        if isinstance(error, RayActorError):
            raise PeerLost(f"{describe(member)} died")
    return [
        member
        for member, error in zip(members, errors, strict=True)
        if isinstance(error, GetTimeoutError)
    ]


def describe(member: Member) -> str:
    """Return which process it is, for people."""
    return f"{member.name} (pid {member.host.pid} on {member.host.name})"


def _check(member: Member, call: Any) -> None:
    error = _error(call)
    if isinstance(error, RayActorError):
        raise PeerLost(f"{describe(member)} died")
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
