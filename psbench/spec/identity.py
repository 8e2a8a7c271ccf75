"""The id of a cell: one question has one id, however it is written."""

import hashlib
import json

from psbench.spec.cell import Cell

ID_VERSION = 1


def cell_id(cell: Cell) -> str:
    """Return 64 hexadecimal digits: the SHA-256 of the cell as sorted JSON.

    Sizes are in bytes, short names expanded and defaults left out, so that a field added later
    leaves old ids as they are.
    """
    fields = cell.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    text = json.dumps(
        {**fields, "id_version": ID_VERSION}, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()
