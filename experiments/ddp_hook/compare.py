"""DistributedDataParallel as it is, and with one of psbench's all-reduces in it.

    torchrun --standalone --nproc-per-node 2 experiments/ddp_hook/compare.py --algorithm ring

Trains one small model twice, from the same start on the same batches, and prints both losses and
what a step takes.
"""

import argparse
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import psbench.hooks

WARM_UP = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--algorithm", default="ring")
    parser.add_argument("--transport", default="auto")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--width", type=int, default=256)
    chosen = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    hook = psbench.hooks.all_reduce(chosen.algorithm, transport=chosen.transport)
    ours, theirs = Training(chosen.width), Training(chosen.width)
    ours.model.register_comm_hook(None, hook)
    for step in range(chosen.steps):  # in turn, so that both meet the same machine
        theirs.step(step)
        ours.step(step)
    called = f"{chosen.algorithm} over {hook.transport}"
    for name, training in (("ddp over gloo", theirs), (called, ours)):
        loss = training.mean_loss()
        if dist.get_rank() == 0:
            milliseconds = 1e3 * statistics.median(training.seconds[WARM_UP:])
            print(f"{name}: loss {loss:.6f}, {milliseconds:.2f} ms a step")
    dist.destroy_process_group()


class Training:
    """A model under DDP, and batches that are this rank's own."""

    def __init__(self, width: int) -> None:
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
        self.model = DistributedDataParallel(layers)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loss = torch.zeros(())
        self.seconds: list[float] = []

    def step(self, number: int) -> None:
        generator = torch.Generator().manual_seed(1000 * number + dist.get_rank())
        inputs = torch.randn(32, 64, generator=generator)
        targets = inputs[:, :10].argmax(dim=1)
        dist.barrier()
        began = time.perf_counter()
        self.optimizer.zero_grad()
        self.loss = nn.functional.cross_entropy(self.model(inputs), targets)
        self.loss.backward()
        self.optimizer.step()
        self.seconds.append(time.perf_counter() - began)

    def mean_loss(self) -> float:
        mean = self.loss.detach() / dist.get_world_size()
        dist.all_reduce(mean)
        return float(mean)


if __name__ == "__main__":
    main()
