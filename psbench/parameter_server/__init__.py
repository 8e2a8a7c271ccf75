"""What a server decides: consistency rules, exactly-once order and versions, and the stores."""

from psbench.parameter_server.core import Apply, Contribution, Decision, Reply, ShardCore
from psbench.parameter_server.rules import RULES, Asynchronous, Push, Rule, Synchronous
from psbench.parameter_server.stores import NullStore, NumpyStore, ShardStore

__all__ = [
    "RULES",
    "Apply",
    "Asynchronous",
    "Contribution",
    "Decision",
    "NullStore",
    "NumpyStore",
    "Push",
    "Reply",
    "Rule",
    "ShardCore",
    "ShardStore",
    "Synchronous",
]
