"""The compiled part of the shared-memory transport: waiting, and one loop that runs any table.

Everything here works on addresses, is compiled by numba without the GIL, and is kept in numba's
cache, from which every process takes it.
"""

from psbench.live.machine.warm import warm

__all__ = ["warm"]
