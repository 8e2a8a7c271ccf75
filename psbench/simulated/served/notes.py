"""What a worker in virtual time notes of a step; as `live.step_times`, whose names these are."""

import math

from psbench.results import StepRow
from psbench.simulated.served.handles import Served
from psbench.simulated.served.letters import Answer
from psbench.trial import End


class Notes:
    """What a step took, as it goes on."""

    def __init__(self, begin_s: float) -> None:
        self.begin_s = begin_s
        self.samples = 0
        self.compute_s = 0.0
        self.update_s = 0.0
        self.end = End.GO_ON
        self.enters: list[float] = []
        self._exits: list[float] = []
        self._sents: list[float] = []
        self._turns: list[float] = []
        self._update_begins: list[float] = []
        self._update_ends: list[float] = []
        self._server_updates: dict[int, float] = {}
        self._queue_s = math.nan
        self._pulled_version = -1
        self._versions: list[int] = []
        self._staleness = -1
        self._held_s = 0.0
        self._dropped = 0
        self._bytes_sent = self._bytes_received = 0
        self._messages_sent = self._messages_received = 0

    def pushed(self, now: float, nbytes: int) -> None:
        """Note a push that is sent now; one without a byte is no message."""
        self.enters.append(now)
        self._bytes_sent += nbytes
        self._messages_sent += nbytes > 0

    @property
    def moved(self) -> tuple[int, int, int, int]:
        """Bytes sent and received, messages sent and received."""
        return (
            self._bytes_sent,
            self._bytes_received,
            self._messages_sent,
            self._messages_received,
        )

    def take_up(self, answer: Answer, served: Served) -> None:
        """Note what a server's answer, which has come, says of a shard."""
        server = served.shard.server
        self._bytes_received += served.nbytes
        self._messages_received += served.nbytes > 0
        self._sents.append(answer.sent_s)
        self._turns.append(answer.turned_s)
        self._update_begins.append(answer.began_s)
        self._update_ends.append(answer.updated_s)
        self._exits.append(served.came_s)
        updates = self._server_updates
        updates[server] = updates.get(server, 0.0) + answer.updated_s - answer.began_s
        if answer.queue_s is not None and not answer.queue_s <= self._queue_s:  # NaN at first
            self._queue_s = answer.queue_s
        self._pulled_version = served.pulled_version
        self._versions.append(answer.version)
        if answer.staleness > self._staleness:
            self._staleness = answer.staleness
        if answer.held_s > self._held_s:
            self._held_s = answer.held_s
        if answer.end > self.end:  # one of the servers says it
            self.end = answer.end
        self._dropped += answer.dropped

    def row(self, *, rank: int, step: int, warmup: bool, loss: float, end_s: float) -> StepRow:
        """Return the row of the step, which is over."""
        enters, exits, versions = self.enters, self._exits, self._versions
        moment = self.begin_s + self.compute_s
        several = len(enters) > 1
        return StepRow(
            rank,
            step,
            self.samples,
            warmup,
            loss,
            self.begin_s,
            self.compute_s,
            enters[0] if enters else moment,
            exits[-1] if exits else moment,
            self.update_s,
            max(self._server_updates.values(), default=0.0),
            self._queue_s,
            end_s,
            self._pulled_version,
            versions[-1] if versions else -1,
            self._staleness,
            self._bytes_sent,
            self._bytes_received,
            self._messages_sent,
            self._messages_received,
            tuple(enters) if several else (),
            tuple(exits) if several else (),
            tuple(self._sents),
            tuple(self._update_begins),
            tuple(self._update_ends),
            self._held_s,
            self._dropped,
            max(versions) - min(versions) if versions else -1,
            tuple(self._turns),
        )
