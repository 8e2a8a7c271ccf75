"""The compiled part of the shared-memory transport: waiting, messages, and a loop for any plan.

Everything here works on addresses, is compiled by numba without the GIL, and is kept in a cache
from which every process takes it.
"""

from pathlib import Path

from psbench.compiling import kept_by_source

with kept_by_source(Path(__file__).parent):
    from psbench.live.machine.warm import warm

__all__ = ["warm"]
