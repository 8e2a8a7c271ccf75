"""What workers and servers tell each other in virtual time."""

from enum import IntEnum
from typing import Any, NamedTuple

from psbench.parameter_server import Push
from psbench.trial import End


class Kind(IntEnum):
    """What a request asks."""

    PUSH = 0
    LEAVE = 1


class Request(NamedTuple):
    """A worker's word to the shard of that number of a server; `vector` is what it pushes."""

    kind: Kind
    worker: int
    shard: int
    push: Push | None = None
    vector: Any = None


class Answer(NamedTuple):
    """A server's word to a worker: the parameters of a version of a shard, and what became of the
    worker's push. Moments are of virtual time; see `live.messages.Answer` for what each says."""

    shard: int
    version: int
    parameters: Any
    end: End
    staleness: int
    dropped: bool
    sent_s: float
    queue_s: float | None
    """None under a rule by which pushes wait for one another, not for the server"""
    turned_s: float
    held_s: float
    began_s: float
    """when the last update began"""
    updated_s: float
