"""What is learned: models with their data, loss and accuracy, one file a family of them."""

from collections.abc import Callable

from psbench.spec import ModelTask
from psbench.training.tasks.byte_lm import byte_lm
from psbench.training.tasks.digest import data_digest
from psbench.training.tasks.digits import digits_cnn, digits_mlp
from psbench.training.tasks.logistic_regression import logistic_regression
from psbench.training.tasks.mlp import mlp
from psbench.training.tasks.own import own_task, working_folder
from psbench.training.tasks.task import DTYPES, WIRE_DTYPES, Data, Task, build_model, evaluate

__all__ = [
    "DTYPES",
    "TASKS",
    "WIRE_DTYPES",
    "Data",
    "Task",
    "build_model",
    "build_task",
    "data_digest",
    "evaluate",
    "working_folder",
]

TASKS: dict[str, Callable[[ModelTask], Task]] = {
    "digits_mlp": digits_mlp,
    "digits_cnn": digits_cnn,
    "logistic_regression": logistic_regression,
    "mlp": mlp,
    "byte_lm": byte_lm,
}


def build_task(spec: ModelTask) -> Task:
    """Return the task that a spec names, built in or the user's own.

    Raises SpecError where the user's function or data are not what they should be.
    """
    return TASKS.get(spec.model, own_task)(spec)
