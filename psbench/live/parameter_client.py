"""A worker's conversation with the server of one shard."""

import math
import time
from dataclasses import dataclass

from torch import Tensor

from psbench.live.collective import as_bytes
from psbench.live.counters import Counters
from psbench.live.headers import Header, dtype_code
from psbench.live.messages import (
    HEADERS,
    PAYLOADS,
    Answer,
    Kind,
    Request,
    blank,
    pack,
    unpack,
)
from psbench.live.transports import Transport, Work


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request under way, with the works of what was sent, and when that was handed over."""

    client: "ParameterClient"
    kind: Kind
    sent: Work
    posted_s: float

    def finish(self) -> "Exchange":
        """Wait for the answer."""
        return self.client.finish(self)


@dataclass(frozen=True, kw_only=True)
class Exchange:
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
    """Pushes a shard of `gradients` to `server` and takes its answer into `parameters`.

    Both are 1-D views of the shard's elements, of one dtype.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        server: int,
        gradients: Tensor,
        parameters: Tensor,
        generation: int,
        counters: Counters,
    ) -> None:
        self._headers = transport.channel(HEADERS)
        self._payloads = transport.channel(PAYLOADS)
        self._lends = transport.capabilities.borrow
        self._server = server
        self._name = transport.peers[server]
        self._gradients = gradients
        self._parameters = parameters
        self._numel = len(parameters)
        self._generation = generation
        self._counters = counters
        self.version = 0
        self.pushes_sent = 0
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
        self._ask(Kind.LEAVE).sent.synchronize()

    def finish(self, asked: Asked) -> Exchange:
        """Wait for the answer; the shard's parameters are then those of its version."""
        sent_s = asked.posted_s
        if not self._lends:
            asked.sent.synchronize()
            sent_s = time.monotonic()
        buffer = blank(Answer)
        self._headers.exchange([], [(self._server, buffer)]).synchronize()
        answer = unpack(Answer, buffer)
        seq = self.pushes_sent - 1
        answer.header.check(self._header(seq), self._name)
        receives = [(self._server, as_bytes(self._parameters))] if self._numel else []
        self._counters.add([], receives)
        self._payloads.exchange([], receives).synchronize()
        asked.sent.synchronize()
        pulled, self.version = self.version, answer.version
        self.pushes_answered += asked.kind is Kind.PUSH
        return Exchange(answer=answer, pulled_version=pulled, sent_s=sent_s)

    def _ask(self, kind: Kind) -> Asked:
        header = self._header(self.pushes_sent)
        request = Request(
            generation=header.generation,
            seq=header.step,
            dtype=dtype_code(header.dtype),
            numel=header.numel,
            kind=kind,
            pulled_version=self.version,
        )
        work = self._headers.exchange([(self._server, pack(request))], [])
        if kind is Kind.PUSH and self._numel:
            payload = [(self._server, as_bytes(self._gradients))]
            self._counters.add(payload, [])
            work = Both(work, self._payloads.exchange(payload, []))
        return Asked(client=self, kind=kind, sent=work, posted_s=time.monotonic())

    def _header(self, step: int) -> Header:
        return Header.describing(self._parameters, generation=self._generation, step=step)


@dataclass(frozen=True)
class Both:
    """Two works as one."""

    first: Work
    second: Work

    def wait(self) -> None:
        self.first.wait()
        self.second.wait()

    def synchronize(self) -> None:
        self.first.synchronize()
        self.second.synchronize()
