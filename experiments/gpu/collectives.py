"""All-reduces over NCCL: a process for each GPU, which sees no other."""

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from timing import MIB, milliseconds
from torch import Tensor

from psbench.live.collective import collective_for
from psbench.live.counters import Counters
from psbench.live.headers import Header
from psbench.live.transports import ENDPOINTS, Transport
from psbench.schedules import ALGORITHMS, OPTIONS, schedule_for

Row = dict[str, Any]

PATIENCE = 90.0
"""Seconds that a process may say nothing for."""


def nccl(folder: Path) -> list[Row]:
    del folder
    rows = []
    for world in sorted({1, torch.cuda.device_count()}):
        for of_ranks in zip(*_told_by_all(world), strict=True):
            slowest = max(of_ranks, key=lambda row: row.get("ms", 0.0))
            rows.append(slowest | {"ok": all(row["ok"] for row in of_ranks)})
    return rows


def _told_by_all(world: int) -> list[list[Row]]:
    """Return what each rank of a world has found."""
    spawn = multiprocessing.get_context("spawn")
    pipes = [spawn.Pipe() for _ in range(world)]
    processes = [
        spawn.Process(target=_rank, args=(rank, world, theirs), daemon=True)
        for rank, (_, theirs) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    addresses = [_hear(ours) for ours, _ in pipes]
    for ours, _ in pipes:
        ours.send(addresses)
    found = [_hear(ours) for ours, _ in pipes]
    for process in processes:
        process.join(PATIENCE)
    return found


def _hear(pipe: Connection) -> Any:
    if not pipe.poll(PATIENCE):
        raise TimeoutError(f"a rank said nothing for {PATIENCE:g} s")
    content, error = pipe.recv()
    if error is not None:
        raise RuntimeError(error)
    return content


def _rank(rank: int, world: int, parent: Connection) -> None:
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    devices = seen if len(seen) >= world and seen[0] else [str(index) for index in range(world)]
    os.environ["CUDA_VISIBLE_DEVICES"] = devices[rank]
    try:
        endpoint = ENDPOINTS["nccl"]("127.0.0.1")
        parent.send((endpoint.address, None))
        transport = endpoint.connect(parent.recv(), rank=rank, generation=1, deadline=60.0)
        found = [*_exact(transport), *_timed(transport)]
        transport.barrier()
        transport.close()
        parent.send((found, None))
    except BaseException:
        parent.send((None, traceback.format_exc()))


def _exact(transport: Transport) -> Iterator[Row]:
    """Yield whether each sum is right: ranks give 1 to 7, each times its number from 1 on. Up to 8
    ranks also bfloat16 holds all of that exactly."""
    world, factor = transport.size, transport.rank + 1
    kinds = [(torch.float32, None), (torch.float32, torch.bfloat16)]
    kinds += [(torch.float64, None), (torch.int64, None)]
    for numel in (1, 1000, 1_000_003):
        pattern = torch.arange(numel, device="cuda") % 7 + 1
        for dtype, wire in kinds:
            for name in (*ALGORITHMS, "native") if wire is None else ALGORITHMS:
                vector = (pattern * factor).to(dtype)
                _summing(transport, name, numel, wire)(vector)
                expected = (pattern * (world * (world + 1) // 2)).to(dtype)
                yield {
                    "world": world,
                    "algorithm": name,
                    "numel": numel,
                    "dtype": f"{dtype} as {wire or dtype}".replace("torch.", ""),
                    "ok": torch.equal(vector, expected),
                }


def _timed(transport: Transport) -> Iterator[Row]:
    """Yield what sums take: of zeros, which they leave as they are."""
    for mebibytes in (1, 16, 100):
        vector = torch.zeros(mebibytes * MIB // 4, device="cuda")
        for name in ("ring", "native"):
            summing = _summing(transport, name, len(vector), None)
            transport.barrier()
            took = milliseconds(lambda run=summing, own=vector: run(own))  # type: ignore[misc]
            yield {
                "world": transport.size,
                "algorithm": name,
                "MiB": mebibytes,
                "ms": took,
                "ok": not vector.any(),
            }


def _summing(
    transport: Transport, algorithm: str, numel: int, wire: torch.dtype | None
) -> Callable[[Tensor], None]:
    """Return what sums a vector over all ranks."""
    if algorithm == "native":
        return lambda vector: transport.native_all_reduce(vector, transport.size)
    hosts = {"ranks_per_host": 2} if "ranks_per_host" in OPTIONS.get(algorithm, ()) else {}
    schedule = schedule_for(algorithm, transport.size, **hosts)
    collective = collective_for(transport, schedule, numel=numel, wire=wire)

    def run(vector: Tensor) -> None:
        header = Header.describing(vector, generation=1, step=0)
        collective.run(vector, header, Counters())

    return run
