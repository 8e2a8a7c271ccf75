"""A process that carries out calls, one after the other, for `processes.Processes`."""

import ctypes
import os
import signal
import sys

from psbench.driver.processes import read, write

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Carry out calls until there are no more, or who asked has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: who started us ends us
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's model prints is no answer
    while True:
        try:
            call, arguments, named = read(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = (True, call(*arguments, **named))
        except Exception as error:
            answer = (False, error)
        write(answers, answer)


if __name__ == "__main__":
    main()
