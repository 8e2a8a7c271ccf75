"""The errors a user can meet, as a tree.

PsbenchError
    SpecError           what was asked cannot be understood or is impossible
    ScheduleError       a schedule breaks its contract
    PlacementError      the cluster cannot hold what was asked
    TransportError      moving bytes between processes failed
        PeerLost        a peer's process or connection is gone
        PeerTimeout     a peer did not answer within the deadline
        Mismatch        a peer sent something else than was expected
    ResultsError        a run folder cannot be read or written, or lacks what was asked of it
    TrialError          a trial could not be finished
        TrialTimeout    a trial took longer than the spec allows

Each message is one line: what went wrong, where, and what would be right. `exit_code` is what the
command line leaves with.
"""


class PsbenchError(Exception):
    """Anything psbench says to its user; never a bug."""

    exit_code = 2


class SpecError(PsbenchError):
    """The spec, or an option, asks for something that is not known or not possible."""


class ScheduleError(PsbenchError):
    """A schedule is malformed, loses or doubles a contribution, or lets replicas drift apart."""


class PlacementError(PsbenchError):
    """The cluster lacks the resources; the message names what was asked and what there is."""


class TransportError(PsbenchError):
    """Moving bytes between two processes failed."""

    exit_code = 4


class PeerLost(TransportError):
    """A peer's process died or its connection closed."""


class PeerTimeout(TransportError):
    """A peer did not answer within the deadline."""


class Mismatch(TransportError):
    """A peer's header (generation, step, dtype, length) differs from ours."""


class ResultsError(PsbenchError):
    """A run folder is missing, not writable, of another schema, damaged, or lacks what is asked."""


class TrialError(PsbenchError):
    """A trial failed for a reason that is not the spec's."""

    exit_code = 4


class TrialTimeout(TrialError):
    """A trial took longer than the spec's `timeout`."""
