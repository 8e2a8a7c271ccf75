"""What is learned: tasks, batches, flat vectors, the torch store, the single-process reference."""

from psbench.training.check import check_task, check_tasks
from psbench.training.learner import Learner, build_learner, vector_nbytes
from psbench.training.loss import Wrap
from psbench.training.own_vectors import OwnVectors, stepped_by
from psbench.training.progress import Progress
from psbench.training.reference import ReferenceStep, bare_loop, reference
from psbench.training.store import ElasticStore, Store, TorchStore
from psbench.training.tasks import (
    DTYPES,
    TASKS,
    WIRE_DTYPES,
    Data,
    Task,
    build_task,
    data_digest,
    working_folder,
)

__all__ = [
    "DTYPES",
    "TASKS",
    "WIRE_DTYPES",
    "Data",
    "ElasticStore",
    "Learner",
    "OwnVectors",
    "Progress",
    "ReferenceStep",
    "Store",
    "Task",
    "TorchStore",
    "Wrap",
    "bare_loop",
    "build_learner",
    "build_task",
    "check_task",
    "check_tasks",
    "data_digest",
    "reference",
    "stepped_by",
    "vector_nbytes",
    "working_folder",
]
