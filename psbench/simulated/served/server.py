"""A parameter server in virtual time: one request after the other, as a live server's loop."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from psbench.parameter_server import Apply, Decision, Drop, Reply
from psbench.simulated.events import EventQueue, Message, Wire
from psbench.simulated.served.letters import Kind, Request
from psbench.simulated.served.shard import VirtualShard
from psbench.simulated.vectors import Vectors
from psbench.trial import End, ServedTrial


class _Turn:
    """A request that a server has turned to, and how many of its shard's decisions are done."""

    __slots__ = ("began", "decisions", "done", "due", "left", "shard")

    def __init__(self, shard: VirtualShard, decisions: Sequence[Decision], *, left: bool) -> None:
        self.shard = shard
        self.decisions = decisions
        self.left = left
        """whether its worker goes"""
        self.done = 0
        self.began = 0.0
        """when the update under way did"""
        self.due: int | None = None
        """the last version it made, if that is to be evaluated and has not been kept"""


class VirtualServer:
    """The server at a node of the wire. It takes requests in the order in which they are all there;
    an update keeps it from the next one, sending does not."""

    def __init__(
        self,
        node: int,
        shards: Sequence[VirtualShard],
        trial: ServedTrial,
        *,
        decides: bool,
        queue: EventQueue,
        wire: Wire,
        vectors: Vectors,
        answered: Callable[[Message], object],
    ) -> None:
        """`answered` takes an answer at its worker. The server that `decides` says in its answers
        how the trial ends."""
        self.node = node
        self.shards = shards
        self.trial = trial
        self.applying_s = 0.0
        """seconds of the timed part spent making versions"""
        self.port_busy = (0.0, 0.0)
        """seconds of the timed part in which its port was sending, receiving"""
        self._port_before: tuple[float, float] | None = None
        self._port_known = False
        self._decides = decides
        self._queue = queue
        self._wire = wire
        self._vectors = vectors
        self._answered = answered
        self.moved = [0, 0, 0, 0]
        """bytes sent and received, messages sent and received"""
        self._requests: deque[Message] = deque()
        self._busy = False

    def hear(self, message: Message) -> None:
        """Take a request that has come; turn to it once those before it are done."""
        self._requests.append(message)
        self.moved[1] += message.nbytes
        self.moved[3] += message.nbytes > 0
        if not self._busy:
            self._busy = True
            self._turn()

    def _turn(self) -> None:
        """Turn to the next request, and to those behind it, until one takes time."""
        while self._requests:
            message = self._requests.popleft()
            request: Request = message.content
            shard = self.shards[request.shard]
            decisions = shard.hear(request, message.sent_s, self._queue.now)
            turn = _Turn(shard, decisions, left=request.kind == Kind.LEAVE)
            if not self._carry_out(turn):
                return
        self._busy = False

    def _carry_out(self, turn: _Turn) -> bool:
        """Carry out what is left to do. False where an update takes time: the rest follows it."""
        decisions = turn.decisions
        while turn.done < len(decisions):
            decision = decisions[turn.done]
            match decision:
                case Apply():
                    self._keep_due(turn)  # before the next version is made of it
                    now = self._queue.now
                    seconds = turn.shard.update_seconds(decision)
                    if seconds > 0:
                        turn.began = now
                        self._queue.at(now + seconds, self._updated, turn)
                        return False
                    turn.due = self._make(decision, turn.shard, now)
                case Drop():
                    turn.shard.drop(decision, left=turn.left)
                case Reply():
                    self._answer(decision, turn.shard)
            turn.done += 1
        self._keep_due(turn)
        return True

    def _updated(self, turn: _Turn) -> None:
        """An update is over: make its version, and carry out what is left."""
        decision = turn.decisions[turn.done]
        assert isinstance(decision, Apply)
        turn.due = self._make(decision, turn.shard, turn.began)
        turn.done += 1
        if self._carry_out(turn):
            self._turn()

    def _keep_due(self, turn: _Turn) -> None:
        """Keep a copy of the present parameters, where they are to be evaluated."""
        if turn.due is not None:
            self.trial.keep(turn.due, self._parameters())
            turn.due = None

    def _make(self, decision: Apply, shard: VirtualShard, began: float) -> int | None:
        """Make a version from `began` until now; return it if it is to be evaluated."""
        now = self._queue.now
        if self.trial.clock.running:
            self.applying_s += now - began
        workers = shard.apply(decision, began, now)
        if shard is not self.shards[0]:
            return None
        self.trial.on_version(decision.version, workers, self._loss())
        if self._port_before is None or self.trial.end is not End.GO_ON:
            self._watch_port()
        due = self._vectors.carries_loss and self.trial.evaluation_due(decision.version)
        return decision.version if due else None

    def begin(self) -> None:
        """The first step is about to start on all workers."""
        self.trial.begin()
        self._watch_port()

    def _watch_port(self) -> None:
        """See how long the port has been busy, when the timed part begins and when it ends."""
        clock = self.trial.clock
        if clock.running and self._port_before is None:
            self._port_before = self._wire.busy(self.node)
        if self.trial.end is not End.GO_ON and not self._port_known:
            self._port_known = True
            now = self._wire.busy(self.node)
            before = self._port_before or now
            self.port_busy = (now[0] - before[0], now[1] - before[1])

    def _loss(self) -> float | None:
        if not (self._decides and self._vectors.carries_loss):
            return None
        return self._vectors.last(self.shards[-1].parameters)

    def _answer(self, reply: Reply, shard: VirtualShard) -> None:
        end = self.trial.end if self._decides else End.GO_ON
        answer = shard.answer(reply, end, self._queue.now)
        self.moved[0] += shard.nbytes
        self.moved[2] += shard.nbytes > 0
        self._wire.send(Message(self.node, reply.worker, shard.nbytes, answer, self._answered))

    def part(self, step: int) -> Any:
        """Return this server's part of the parameters that are evaluated as those of `step`: its
        version of that step or, if the trial ended before it made that, the last it made."""
        for point in self.trial.checkpoints:
            if point.step == step:
                return point.parameters
        return self._parameters()

    def _parameters(self) -> Any:
        return self._vectors.join([shard.parameters for shard in self.shards])
