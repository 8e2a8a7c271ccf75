"""The row types: everything a trial leaves behind, one tidy record each."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

TrialStatus = Literal["ok", "diverged", "timed_out", "failed"]


class StepRow(NamedTuple):
    """One rank's one step. A NamedTuple, because a live trial makes one a step and rank.

    `begin_s, enter_s, exit_s, end_s` are readings of CLOCK_MONOTONIC; everything else that ends in
    `_s` is a duration in seconds. `enter_s..exit_s` is the synchronisation.
    """

    rank: int
    step: int
    samples: int
    """Samples of this rank's slice of the step's batch."""
    warmup: bool
    loss: float
    begin_s: float
    compute_s: float
    enter_s: float
    exit_s: float
    update_s: float
    """The worker's optimizer time, after `exit_s`."""
    server_update_s: float
    """The server's optimizer time for this step, inside `enter_s..exit_s`; the longest of several
    servers'."""
    queue_s: float
    """When the server turned to the push minus when it was sent, on their clocks; NaN unless the
    strategy is asynchronous."""
    end_s: float
    pulled_version: int
    """Version of the parameters the gradient was computed from; -1 without a server. Of several
    shards, as in the next, that of the first of the vector, which is answered last."""
    version: int
    """Version of the parameters after the step; -1 without a server."""
    staleness: int
    """Server version at apply minus version pulled, the most of all shards; -1 without a server."""
    bytes_sent: int
    """Payload given to the transport; -1, as in the next three, where only the backend could
    have counted."""
    bytes_received: int
    messages_sent: int
    messages_received: int
    enters: tuple[float, ...] = ()
    """Of each bucket, in order, where the vector is summed in several: `enter_s` is the first."""
    exits: tuple[float, ...] = ()
    """Likewise; `exit_s` is the last."""
    sents: tuple[float, ...] = ()
    """Of each shard pushed to a server, in order of the pushes: when the server could turn to it,
    once the rank knew its last byte handed over or, where the server reads it in place, at once."""
    update_begins: tuple[float, ...] = ()
    """Likewise: when the server began to apply it, a reading of the server's clock."""
    update_ends: tuple[float, ...] = ()
    """Likewise: when the server had applied it."""
    held_s: float = 0.0
    """How long a server's rule let this rank wait for others, inside `enter_s..exit_s`; of several
    shards the longest."""
    dropped: int = 0
    """Shards of the push that came too late to count."""
    version_spread: int = -1
    """Latest minus earliest of the versions that a rank has of the shards after the step; -1
    without a server."""
    turns: tuple[float, ...] = ()
    """Of each shard, as in `sents`: when the server turned to the request, a reading of its
    clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalRow:
    """One evaluation of a trial's parameters, made after the trial on a copy."""

    cell_id: str
    repeat: int
    attempt: int
    step: int
    samples: int
    """Samples all workers had trained on when the parameters were copied, warm-up included."""
    seconds: float
    """Timed training until then: from the end of the warm-up, copying left out."""
    loss: float
    accuracy: float | None
    """Fraction of the test samples that were right; None where the task has no such thing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRow:
    """How one trial ended. Tuples have one entry a node: ranks first, then servers."""

    cell_id: str
    repeat: int
    attempt: int
    status: TrialStatus
    error: str | None
    transport: str
    """The transport that carried the bytes: what `auto` chose, or `auto` where it had not yet."""
    steps: int
    """Steps done, warm-up included."""
    samples: int
    """Samples of the timed part, all workers together."""
    seconds: float
    """Length of the timed part."""
    pushes_sent: int | None
    pushes_acknowledged: int | None
    pushes_applied: int | None
    bytes_sent: tuple[int, ...]
    """Payload of all steps, warm-up included; so are the next three. -1: not counted."""
    bytes_received: tuple[int, ...]
    messages_sent: tuple[int, ...]
    messages_received: tuple[int, ...]
    node_hosts: tuple[str, ...]
    one_clock: bool
    """Whether all nodes read one kernel's monotonic clock, so that readings may be subtracted."""
    threads: int
    """Compute threads of each node."""
    peak_memory_bytes: tuple[int, ...] = ()
    """The most memory each node held at once during the trial; empty where it was not measured."""
    pinned_cores: tuple[str, ...] = ()
    """The cores each node was held to, such as "0" or "2,3"; "" for a node that was not."""
    algorithm: str | None = None
    """The all-reduce that `algorithm: auto` picked; None where the spec names what to do."""
    chunks: int | None = None
    """The number that `chunks: auto` picked; None where the spec says it."""
    pushes_dropped: int | None = None
    """Pushes that came too late to count, of each shard."""
    pushes_left: int | None = None
    """Pushes of each shard that no version had taken when their workers left, at the end."""
    server_receiving_s: tuple[float, ...] = ()
    """Seconds of the timed part that each server spent taking pushes in, once it had turned to
    them; the rest, beside the next two, it waited for requests."""
    server_applying_s: tuple[float, ...] = ()
    """Likewise: applying pushes."""
    server_sending_s: tuple[float, ...] = ()
    """Likewise: copying parameters and handing them to the transport."""
    device: str = "cpu"
    """What workers computed on: cpu or cuda. What `auto` stood for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRow:
    """Something worth knowing that happened in a run, for people to read."""

    time: str
    """ISO 8601, UTC."""
    kind: str
    message: str
    cell_id: str | None = None
    repeat: int | None = None


JournalRow = EvalRow | TrialRow | EventRow

EngineOutput = list[StepRow] | EvalRow | TrialRow
"""What an engine yields of a trial: batches of finished steps, its evaluations, its summary."""
