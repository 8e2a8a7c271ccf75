"""Keeping stdout for results."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def stdout_on_stderr() -> Iterator[None]:
    """Have whatever is written to stdout meanwhile, by Ray or a user's model, appear on stderr."""
    sys.stdout.flush()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        try:
            kept = os.dup(1)
        except OSError:  # closed by whoever started us
            kept = os.dup(nowhere.fileno())
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def say(text: str) -> None:
    """Tell on stderr how far a command is; who reads along may leave."""
    with contextlib.suppress(OSError):
        print(f"psbench: {text}", file=sys.stderr, flush=True)
