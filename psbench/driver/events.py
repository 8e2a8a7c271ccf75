"""The events that a run journals."""

from datetime import UTC, datetime

from psbench.results import EventRow

WARNING = "warning"
"""The kind of an event that tells what limits the results, and that the manifest does not."""


def event(
    kind: str, message: str, *, cell_id: str | None = None, repeat: int | None = None
) -> EventRow:
    """Return an event that happens now."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return EventRow(time=now, kind=kind, message=message, cell_id=cell_id, repeat=repeat)
