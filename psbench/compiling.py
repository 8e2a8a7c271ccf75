"""Where numba keeps what it has compiled: in a folder for exactly this source.

Numba notices a change of the file that a function is in, but not of those it takes others from.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def kept_by_source(package: Path) -> Iterator[None]:
    """Have functions that are declared meanwhile kept in the user's cache, under the source of the
    folder `package`.

    Where that cannot be written, numba looks for a place itself. NUMBA_CACHE_DIR is heeded.
    """
    import numba  # not where nothing is compiled

    usual = numba.config.CACHE_DIR
    root = Path(usual) if usual else _user_cache() / "psbench"
    numba.config.CACHE_DIR = str(root / f"{package.name}-{_digest(package)}")
    try:
        yield
    finally:
        numba.config.CACHE_DIR = usual


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _digest(package: Path) -> str:
    import numba

    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(package.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
