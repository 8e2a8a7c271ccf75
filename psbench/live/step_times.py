"""What a rank notes of a step while it goes on."""

import math
import time
from dataclasses import dataclass, field

from psbench.live.parameter_client import Exchange
from psbench.trial import End


@dataclass
class StepTimes:
    """What a step took, as it goes on. `*_s` as in results.StepRow."""

    begin_s: float
    samples: int = 0
    compute_s: float = 0.0
    enters: list[float] = field(default_factory=list)
    """when each synchronisation of the step began"""
    exits: list[float] = field(default_factory=list)
    sents: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    update_begins: list[float] = field(default_factory=list)
    update_ends: list[float] = field(default_factory=list)
    update_s: float = 0.0
    server_updates: dict[int, float] = field(default_factory=dict)
    """what the optimiser took on each server; they go on at once"""
    queue_s: float = math.nan
    pulled_version: int = -1
    versions: list[int] = field(default_factory=list)
    """of each answer, in order"""
    staleness: int = -1
    held_s: float = 0.0
    dropped: int = 0
    end: End = End.GO_ON

    @property
    def server_update_s(self) -> float:
        return max(self.server_updates.values(), default=0.0)

    @property
    def version(self) -> int:
        return self.versions[-1] if self.versions else -1

    @property
    def version_spread(self) -> int:
        return max(self.versions) - min(self.versions) if self.versions else -1

    def take_up(self, exchange: Exchange, server: int) -> None:
        """Note what a server's answer, which is there now, says of a shard."""
        answer = exchange.answer
        self.sents.append(exchange.sent_s)
        self.turns.append(answer.turned_ns * 1e-9)
        self.update_begins.append((answer.updated_ns - answer.update_ns) * 1e-9)
        self.update_ends.append(answer.updated_ns * 1e-9)
        self.exits.append(time.monotonic())
        updates = self.server_updates
        updates[server] = updates.get(server, 0.0) + answer.update_ns * 1e-9
        if not exchange.queue_s <= self.queue_s:  # NaN until the first
            self.queue_s = exchange.queue_s
        self.pulled_version = exchange.pulled_version
        self.versions.append(answer.version)
        self.staleness = max(self.staleness, answer.staleness)
        self.held_s = max(self.held_s, answer.held_ns * 1e-9)
        self.dropped += answer.dropped
        self.end = max(self.end, End(answer.end))  # one of the servers says it
