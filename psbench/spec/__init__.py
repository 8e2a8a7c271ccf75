"""What is asked: a spec, its matrix of cells, and the id that names each cell.

A `Spec` is what the user wrote; `Spec.cells()` are its fully resolved points; a `Trial` is one
repeat of a cell. Whatever is wrong with a spec raises a one-line `psbench.errors.SpecError`.
"""

from psbench.spec.any_strategy import (
    LocalSteps,
    Strategy,
    carrier,
    is_colocated,
    needs_own_all_reduce,
    strategy_label,
    sums_over_ranks,
)
from psbench.spec.batch import Batch
from psbench.spec.cell import Cell, Target
from psbench.spec.cluster import Cluster, gpus_for
from psbench.spec.compute import Compute, Slow, Stragglers
from psbench.spec.fields import cell_fields, varying_fields
from psbench.spec.identity import cell_id
from psbench.spec.json_schema import spec_schema
from psbench.spec.links import LinkFigures, Network
from psbench.spec.local_steps import DiLoCo, Easgd, LocalSgd
from psbench.spec.names import (
    ALGORITHMS,
    CONSISTENCIES,
    DTYPES,
    ENGINES,
    LINK_PRESETS,
    LR_RULES,
    MODELS,
    OPTIMIZERS,
    PROFILES,
    STRATEGIES,
    TRANSPORTS,
    Reduce,
)
from psbench.spec.network import (
    NETWORK_VERSION,
    CollectiveTime,
    LinkTimes,
    NetworkFile,
    network_of,
    read_network,
    write_network,
)
from psbench.spec.short_names import NUMBERED, SHORTHANDS
from psbench.spec.spec import Spec
from psbench.spec.strategy import AllReduce, Bare, Ddp, Native, NoSync, ParameterServer
from psbench.spec.task import (
    ITEM_SIZES,
    Adam,
    ModelTask,
    Optimizer,
    PayloadTask,
    ProfileTask,
    Sgd,
    Task,
    Untrained,
)
from psbench.spec.trial import Asked, Trial

__all__ = [
    "ALGORITHMS",
    "CONSISTENCIES",
    "DTYPES",
    "ENGINES",
    "ITEM_SIZES",
    "LINK_PRESETS",
    "LR_RULES",
    "MODELS",
    "NETWORK_VERSION",
    "NUMBERED",
    "OPTIMIZERS",
    "PROFILES",
    "SHORTHANDS",
    "STRATEGIES",
    "TRANSPORTS",
    "Adam",
    "AllReduce",
    "Asked",
    "Bare",
    "Batch",
    "Cell",
    "Cluster",
    "CollectiveTime",
    "Compute",
    "Ddp",
    "DiLoCo",
    "Easgd",
    "LinkFigures",
    "LinkTimes",
    "LocalSgd",
    "LocalSteps",
    "ModelTask",
    "Native",
    "Network",
    "NetworkFile",
    "NoSync",
    "Optimizer",
    "ParameterServer",
    "PayloadTask",
    "ProfileTask",
    "Reduce",
    "Sgd",
    "Slow",
    "Spec",
    "Stragglers",
    "Strategy",
    "Target",
    "Task",
    "Trial",
    "Untrained",
    "carrier",
    "cell_fields",
    "cell_id",
    "gpus_for",
    "is_colocated",
    "needs_own_all_reduce",
    "network_of",
    "read_network",
    "spec_schema",
    "strategy_label",
    "sums_over_ranks",
    "varying_fields",
    "write_network",
]
