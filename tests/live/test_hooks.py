"""Our all-reduces inside DistributedDataParallel: the same losses, and plain errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import psbench.hooks
from psbench.errors import SpecError

SCRIPT = Path(__file__).parents[2] / "experiments" / "ddp_hook" / "compare.py"


def torchrun(ranks, *words):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={ranks}", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90)


@pytest.mark.parametrize(
    ("ranks", "algorithm", "transport"),
    [(1, "ring", "auto"), (2, "direct", "gloo"), (3, "ring", "auto"), (3, "tree", "gloo")],
)
def test_losses_are_those_of_ddp(ranks, algorithm, transport):
    chosen = [f"--algorithm={algorithm}", f"--transport={transport}", "--steps=12"]
    done = torchrun(ranks, str(SCRIPT), *chosen)
    assert done.returncode == 0, done.stderr
    losses = dict(re.findall(r"^(.+): loss ([\d.]+), [\d.]+ ms a step$", done.stdout, re.M))
    ours = f"{algorithm} over {'shared_memory' if transport == 'auto' else transport}"
    assert list(losses) == ["ddp over gloo", ours], done.stdout
    assert float(losses[ours]) == pytest.approx(float(losses["ddp over gloo"]), rel=1e-5)
    assert float(losses["ddp over gloo"]) < 2.3, "ln 10: it has learned something"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"algorithm": "rign"}, "unknown algorithm 'rign'; did you mean 'ring'"),
        ({"transport": "object_store"}, "object_store needs Ray's actors; use shared_memory"),
        ({"transport": "glo"}, "unknown transport 'glo'; did you mean 'gloo'"),
        ({"transport": "nccl"}, r"unknown transport 'nccl' \(known: gloo, shared_memory, auto\)"),
    ],
)
def test_what_is_not_known_is_refused(asked, message):
    with pytest.raises(SpecError, match=message):
        psbench.hooks.all_reduce(**asked)


def test_the_names():
    assert psbench.hooks.__all__ == ["Hook", "all_reduce"]


def test_a_rank_that_is_gone_is_named_by_the_backward_pass():
    done = torchrun(2, __file__)
    assert done.returncode == 0, done.stderr
    assert "PeerLost: rank 1 is gone (in a collective)" in done.stdout


def leave_in_the_midst():
    """Train as a rank of two; the second ends in its third step."""
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(4, 4))
    model.register_comm_hook(None, psbench.hooks.all_reduce("ring"))
    for step in range(5):
        if step == 2 and dist.get_rank() == 1:
            os._exit(0)
        try:
            model(torch.ones(2, 4)).sum().backward()
        except RuntimeError as error:
            print(f"RuntimeError: {error}", flush=True)
            os._exit(0)


if __name__ == "__main__":
    leave_in_the_midst()
