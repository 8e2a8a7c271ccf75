"""Where numba keeps what it has compiled: in a folder for exactly this source.

Numba notices a change of the file that a function is in, but not of those it takes others from.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numba


@contextlib.contextmanager
def compiled_in_its_own_folder() -> Iterator[None]:
    """Have functions that are declared meanwhile kept in the user's cache, under this source.

    Where that cannot be written, numba looks for a place itself. NUMBA_CACHE_DIR is heeded.
    """
    usual = numba.config.CACHE_DIR
    root = Path(usual) if usual else _user_cache() / "psbench"
    numba.config.CACHE_DIR = str(root / f"machine-{_digest()}")
    try:
        yield
    finally:
        numba.config.CACHE_DIR = usual


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
