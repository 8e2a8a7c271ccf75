"""The compiled part of the shared-memory transport: waiting, messages, and a loop for any plan.

Everything here works on addresses, is compiled by numba without the GIL, and is kept in a cache
from which every process takes it.
"""

from psbench.live.machine.cache import compiled_in_its_own_folder

with compiled_in_its_own_folder():
    from psbench.live.machine.warm import warm

__all__ = ["warm"]
