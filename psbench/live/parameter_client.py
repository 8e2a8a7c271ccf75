"""A worker's conversation with its servers: one client a shard, one set of answers a server."""

import math
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torch import Tensor

from psbench.errors import Mismatch
from psbench.live.counters import Counters
from psbench.live.headers import Header, dtype_code
from psbench.live.letters import letters_over
from psbench.live.messages import (
    Answer,
    Kind,
    Request,
    Words,
)
from psbench.live.transports import Transport, Work


class Asked(NamedTuple):
    """A request under way, with the works of what was sent, and when that was handed over."""

    client: "ParameterClient"
    kind: Kind
    sent: Sequence[Work]
    posted_s: float

    def finish(self) -> "Exchange":
        """Wait for the answer."""
        return self.client.finish(self)


class Exchange(NamedTuple):
    """A request and its answer; `sent_s` is when the server could turn to the request: when its
    last byte was handed over or, where the server reads it in place, when it was posted."""

    answer: Answer
    pulled_version: int
    sent_s: float

    @property
    def queue_s(self) -> float:
        """When the server turned to the push, minus when it was sent: how long it lay there, as far
        as the two have one clock. NaN under a rule by which pushes wait for one another, not for
        the server."""
        if not self.answer.taken_ns:
            return math.nan
        return self.answer.taken_ns * 1e-9 - self.sent_s


class ParameterClient:
    """Pushes `gradients` to `server` and takes its answer into `parameters`.

    Both are 1-D views of the elements of a shard, one dtype; it is the server's of that number.
    """

    def __init__(
        self,
        answers: "Answers",
        *,
        shard: int = 0,
        gradients: Tensor,
        parameters: Tensor,
        generation: int,
        first_seq: int = 0,
        counters: Counters,
    ) -> None:
        answers.clients[shard] = self
        self._answers = answers
        self._letters = answers.letters
        self.server = answers.server
        self._shard = shard
        self._ours = Header.describing(parameters, generation=generation, step=0)
        self._dtype = dtype_code(parameters.dtype)
        self._request = Words(Request)
        self._gradients = gradients if len(gradients) else None
        self._parameters = parameters if len(parameters) else None
        self._counters = counters
        self.version = 0
        self.pushes_sent = 0
        self._first_seq = first_seq
        self.pushes_answered = 0

    def push(self) -> Asked:
        """Send the gradients."""
        asked = self._ask(Kind.PUSH)
        self.pushes_sent += 1
        return asked

    def pull(self) -> Asked:
        """Ask for the parameters as they stand."""
        return self._ask(Kind.PULL)

    def leave(self) -> None:
        """Tell the server that this worker will not push again."""
        synchronize(self._ask(Kind.LEAVE).sent)

    def finish(self, asked: Asked) -> Exchange:
        """Wait for the answer; the shard's parameters are then those of its version."""
        sent_s = asked.posted_s
        if not self._letters.lends:
            synchronize(asked.sent)
            sent_s = time.monotonic()
        answer = self._answers.of(self._shard)
        synchronize(asked.sent)
        pulled, self.version = self.version, answer.version
        self.pushes_answered += asked.kind is Kind.PUSH
        return Exchange(answer=answer, pulled_version=pulled, sent_s=sent_s)

    def take(self, answer: Answer) -> None:
        """Take in what is behind an answer's words, which have come."""
        seq = self._first_seq + self.pushes_sent - 1
        answer.header.check(self._header(seq), self._answers.name)
        self._letters.take(self.server, self._parameters)
        if self._parameters is not None:
            self._counters.add([], [(self.server, self._parameters)])

    def _ask(self, kind: Kind) -> Asked:
        header = self._header(self._first_seq + self.pushes_sent)
        self._request.put(
            Request(
                generation=header.generation,
                seq=header.step,
                dtype=self._dtype,
                numel=header.numel,
                shard=self._shard,
                kind=kind,
                pulled_version=self.version,
            )
        )
        vector = self._gradients if kind is Kind.PUSH else None
        if vector is not None:
            self._counters.add([(self.server, vector)], [])
        sent = self._letters.send(self.server, self._request, vector)
        return Asked(client=self, kind=kind, sent=sent, posted_s=time.monotonic())

    def _header(self, step: int) -> Header:
        return self._ours.at(step)


class Answers:
    """What a server answers to the clients of its shards, in whatever order: a rule may let one
    push wait and answer a later one at once."""

    def __init__(self, transport: Transport, server: int) -> None:
        self.letters = letters_over(transport)
        self.server = server
        self.name = transport.peers[server]
        self.clients: dict[int, ParameterClient] = {}
        self._words = Words(Answer)
        self._come: dict[int, Answer] = {}

    def of(self, shard: int) -> Answer:
        """Wait for the answer to a shard's client; it and those that come before are taken in."""
        while shard not in self._come:
            self.letters.receive(self.server, self._words)
            answer = self._words.get()
            if answer.shard not in self.clients or answer.shard in self._come:
                raise Mismatch(f"{self.name} answers for shard {answer.shard}, which asks nothing")
            self.clients[answer.shard].take(answer)
            self._come[answer.shard] = answer
        return self._come.pop(shard)


def synchronize(works: Iterable[Work]) -> None:
    """Block until all are done."""
    for work in works:
        work.synchronize()
