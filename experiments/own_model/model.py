"""A model of your own: the function that a spec names as `package.module:function`.

It returns a `psbench.Task`, whose docstring is the whole protocol. Its keywords are the spec's
`task.options`; with `task.data` it would also get `data`, a `pathlib.Path`. This one forecasts a
noisy sum of two waves, one value ahead, with a GRU.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from psbench import Data, Task


class Forecaster(nn.Module):
    """Values of shape (n, t) to the one expected next, shape (n,)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = nn.GRU(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, values: Tensor) -> Tensor:
        states, _ = self.recurrent(values.unsqueeze(2))
        return self.head(states[:, -1]).squeeze(1)


def build(width: int = 16, noise: float = 0.1, length: int = 24) -> Task:
    """Return the task: a GRU of `width` units that sees `length` values with `noise`."""

    def data() -> tuple[Data, Data]:
        generator = torch.Generator().manual_seed(0)  # every process must make the same samples
        time = torch.arange(3000, dtype=torch.float64)
        series = torch.sin(time / 5) + torch.sin(time / 13)
        series += noise * torch.randn(3000, generator=generator, dtype=torch.float64)
        windows = series.unfold(0, length + 1, 1)
        samples = Data(inputs=windows[:, :-1], targets=windows[:, -1])
        return samples[:2400], samples[2400 + length :]  # held-out windows share no value

    return Task(
        model=lambda: Forecaster(width),
        loss=lambda model, inputs, targets: functional.mse_loss(model(inputs), targets),
        data=data,
    )
