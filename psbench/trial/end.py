"""How servers say that a trial is over."""

from enum import IntEnum


class End(IntEnum):
    """What an answer says of the trial: go on, or end it and why."""

    GO_ON = 0
    FINISHED = 1
    DIVERGED = 2
