"""What a server decides: consistency rules, exactly-once order and versions, and the stores."""

from psbench.parameter_server.core import (
    Apply,
    Contribution,
    Decision,
    Drop,
    Reply,
    ShardCore,
)
from psbench.parameter_server.rules import (
    RULES,
    Asynchronous,
    BoundedStaleness,
    InTurn,
    Push,
    Rule,
    Synchronous,
    View,
)
from psbench.parameter_server.staleness import Staleness
from psbench.parameter_server.stores import NullStore, NumpyStore, ShardStore

__all__ = [
    "RULES",
    "Apply",
    "Asynchronous",
    "BoundedStaleness",
    "Contribution",
    "Decision",
    "Drop",
    "InTurn",
    "NullStore",
    "NumpyStore",
    "Push",
    "Reply",
    "Rule",
    "ShardCore",
    "ShardStore",
    "Staleness",
    "Synchronous",
    "View",
]
