"""Softmax regression: convex, so that strategies differ in speed and never in the minimum."""

from torch import nn

from psbench.spec import ModelTask
from psbench.training.tasks.arrays import features_and_classes, read_samples
from psbench.training.tasks.digits import digits
from psbench.training.tasks.task import Task, cross_entropy, share_right


def logistic_regression(spec: ModelTask) -> Task:
    """One linear layer on the digits, or on `data`: features x classes + classes parameters.

    On the digits 650. They start at zero, as is usual where there is one minimum: the first loss is
    ln(classes), and repeats differ by their batches alone.
    """
    train, held_out = digits() if spec.data is None else read_samples(spec.data)
    features, classes = features_and_classes(train, held_out)

    def model() -> nn.Module:
        layer = nn.Linear(features, classes)
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
        return nn.Sequential(nn.Flatten(), layer)

    return Task(
        model=model, loss=cross_entropy, data=lambda: (train, held_out), accuracy=share_right
    )
