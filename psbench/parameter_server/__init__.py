"""What a server decides: consistency rules, learning-rate rules, exactly-once order and versions,
and the stores."""

from psbench.parameter_server.core import (
    Apply,
    Contribution,
    Decision,
    Drop,
    Reply,
    ShardCore,
)
from psbench.parameter_server.learning_rates import LEARNING_RATES, Compensation, LearningRate
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
from psbench.parameter_server.stores import Correct, NullStore, NumpyStore, ShardStore

__all__ = [
    "LEARNING_RATES",
    "RULES",
    "Apply",
    "Asynchronous",
    "BoundedStaleness",
    "Compensation",
    "Contribution",
    "Correct",
    "Decision",
    "Drop",
    "InTurn",
    "LearningRate",
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
