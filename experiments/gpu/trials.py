"""Trials on GPUs through psbench itself, and what copies to the host and back take beside them."""

from pathlib import Path
from typing import Any

import torch
from timing import MIB, milliseconds

import psbench
from psbench.live.staging import lock, unlock
from psbench.live.transports import ENDPOINTS
from psbench.spec import cell_id
from psbench.training import build_learner, reference

Row = dict[str, Any]

CLOSE_ENOUGH = 1e-8
WORKERS = 4
SHARE = {"gpus_per_worker": 1 / WORKERS, "cpus_per_worker": 2}
OPTIMIZER = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}


def parity(folder: Path) -> list[Row]:
    matrix = {"strategy": ["ring", "tree", "ps-sync"], "transport": ["shared_memory", "gloo"]}
    return against_the_cpu(folder, workers=WORKERS, cluster=SHARE, matrix=matrix)


def nccl_parity(folder: Path) -> list[Row]:
    overlap = {"kind": "all_reduce", "algorithm": "ring", "bucket": "80 KiB", "overlap": True}
    return against_the_cpu(
        folder,
        workers=torch.cuda.device_count(),
        cluster={"gpus_per_worker": 1, "cpus_per_worker": 2},
        transport="nccl",
        matrix={"strategy": ["ring", overlap, "native", "ddp"]},
    )


def against_the_cpu(folder: Path, **fields: Any) -> list[Row]:
    """Run a spec; for each cell return by how much its losses differ at most, relative to those of
    a single process on the CPU: at each step of each rank, and after the last on held-out samples.
    """
    spec = psbench.Spec(
        name="parity",
        task={"model": "digits_cnn", "dtype": "float64", "optimizer": OPTIMIZER},
        batch={"global": 32},
        steps=30,
        **fields,
    )
    results = psbench.run(spec, out=folder)
    first = spec.cells()[0]
    steps = list(reference(first, seed=0, repeat=0))
    learner = build_learner(first, seed=0, repeat=0, rank=0)
    learner.parameters[:-1] = steps[-1].parameters
    held_out, _ = learner.evaluate(learner.parameters.clone())
    rows = []
    for cell in spec.cells():
        trial, own, evals = (
            frame[frame["cell_id"] == cell_id(cell)].to_dict("records")
            for frame in (results.trials, results.steps, results.evals)
        )
        differences = [abs(row["loss"] / steps[row["step"]].loss - 1) for row in own]
        differences += [abs(row["loss"] / held_out - 1) for row in evals]
        largest = max(differences, default=float("nan"))
        complete = len(differences) == cell.workers * cell.steps + 1
        on_gpu = trial[0]["device"] == "cuda"
        rows.append(
            {
                "strategy": cell.label,
                "transport": trial[0]["transport"],
                "status": trial[0]["status"],
                "error": trial[0]["error"],
                "difference": float(largest),
                "ok": bool(complete and on_gpu and largest <= CLOSE_ENOUGH),
            }
        )
    return rows


def staging(folder: Path) -> list[Row]:
    del folder
    endpoint = ENDPOINTS["shared_memory"]("127.0.0.1")
    transport = endpoint.connect([endpoint.address], rank=0, generation=1, deadline=60.0)
    rows = []
    for mebibytes in (1, 16, 100):
        numel = mebibytes * MIB // 4
        shared = transport.allocate(numel, dtype=torch.float32)
        lock(shared)
        hosts = {
            "ordinary": torch.zeros(numel),
            "page-locked": torch.zeros(numel, pin_memory=True),
            "shared, page-locked": shared,
        }
        for memory, host in hosts.items():
            rows.append({"MiB": mebibytes, "memory": memory} | _copies(host))
        unlock(shared)
    transport.close()
    return rows


def _copies(host: torch.Tensor) -> Row:
    device = torch.arange(len(host), dtype=host.dtype, device="cuda")
    back = torch.zeros_like(device)
    out_ms = milliseconds(lambda: host.copy_(device, non_blocking=True))
    into_ms = milliseconds(lambda: back.copy_(host, non_blocking=True))
    return {
        "to_host_ms": out_ms,
        "to_device_ms": into_ms,
        "to_host_GB_per_s": host.nbytes / out_ms / 1e6,
        "to_device_GB_per_s": host.nbytes / into_ms / 1e6,
        "ok": torch.equal(back, device),
    }


def training(folder: Path) -> list[Row]:
    overlap = {"kind": "all_reduce", "algorithm": "ring", "bucket": "4 MiB", "overlap": True}
    return [
        *_trained(folder, {"model": "digits_cnn"}, ["ring", "ps-sync", "ps-async", "none"]),
        *_trained(
            folder, {"model": "mlp", "parameters": 5e6}, ["ring", overlap, "ps-sync", "none"]
        ),
    ]


def _trained(folder: Path, task: Row, strategies: list[Any]) -> list[Row]:
    spec = psbench.Spec(
        name=task["model"],
        task=task | {"optimizer": OPTIMIZER},
        batch={"per_worker": 32},
        steps=60,
        warmup=10,
        workers=WORKERS,
        cluster=SHARE,
        transport="shared_memory",
        repeats=2,
        matrix={"strategy": strategies},
    )
    results = psbench.run(spec, out=folder / task["model"])
    return [
        {
            "model": task["model"],
            "strategy": record["strategy"],
            "step_ms": 1e3 * float(record["step_s"]),
            "samples_per_s": float(record["samples_per_s"]),
            "compute": float(record["compute_share"]),
            "wait": float(record["wait_share"]),
            "comm": float(record["comm_share"]),
            "final_loss": float(record["final_loss"]),
            "ok": bool(record["num_ok"] == spec.repeats),
        }
        for record in results.summary().to_dict("records")
    ]
