"""Which psbench a process runs: the driver and its actors must run the same."""

import functools
import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Code:
    """A psbench; two of one `digest` have the same source, wherever they lie."""

    version: str
    folder: str
    digest: str

    def __str__(self) -> str:
        return f"{self.version} ({self.digest[:8]}) in {self.folder}"


@functools.cache
def this_code() -> Code:
    """Return the psbench that this process has imported.

    It need not be the installed one: Ray puts a job's working folder, or the driver's current one,
    before it on an actor's path, and a checkout there wins.
    """
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        text = file.read_bytes()
        digest.update(f"{file.relative_to(folder)} {len(text)}\n".encode() + text)
    try:
        version = metadata.version("psbench")
    except metadata.PackageNotFoundError:
        version = "not installed"
    return Code(version=version, folder=str(folder), digest=digest.hexdigest())
