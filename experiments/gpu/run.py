"""What psbench does on GPUs, checked and timed in one go, on one machine.

    python experiments/gpu/run.py --out gpu-figures

takes some five minutes on one GPU, and no more than `--timeout` seconds. Without a GPU it says so
and ends well. Figures go to `figures.json` in the folder `--out`, beside the runs that they were
read from, and as a table to the terminal. The exit code is 0 where every part was well, and 1 where
one was not.

parity       four workers share a GPU and train in float64 by ring, tree and a parameter server,
             over shared memory and gloo: each step's loss, and that on held-out samples, against a
             single process on the CPU, within 1e-8
staging      copies between a GPU and its host, by CUDA events: from ordinary memory, from
             page-locked memory, and from the page-locked shared memory that psbench uses
training     four workers share a GPU: a small CNN, and an MLP of 5 million parameters
nccl         every all-reduce over NCCL, and NCCL's own: exact against the closed form of sums of
             whole numbers, the ring and NCCL's own timed by CUDA events; in a world of one, and in
             one of as many ranks as there are GPUs
nccl_parity  as parity, with a GPU for each worker and over NCCL: ring, with and without overlap,
             NCCL's own, and DistributedDataParallel

Each part is a process of its own: one that fails, hangs or breaks its GPU leaves the others alone.
"""

import argparse
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

Row = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("parity", "staging", "training", "nccl", "nccl_parity")
LONGEST_PART = 200.0  # seconds
LAST_WORDS = 1500  # characters


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="a new or empty folder")
    parser.add_argument("--timeout", type=float, default=450.0, help="seconds for all parts")
    parser.add_argument("--part", choices=PARTS, help="only this one, in this process")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if not chosen.part and any(chosen.out.iterdir()):
        parser.error(f"--out {chosen.out}: is not empty; name a new folder")
    if chosen.part:
        rows = carry_out(chosen.part, chosen.out / chosen.part)
        (chosen.out / f"{chosen.part}.json").write_text(json.dumps(rows))
        return 0
    figures: Row = {"host": platform.node(), "torch": torch.__version__, "gpus": [], "parts": {}}
    if torch.cuda.is_available():
        names = map(torch.cuda.get_device_name, range(torch.cuda.device_count()))
        figures |= {"gpus": list(names), "cuda": torch.version.cuda}
        deadline = time.monotonic() + chosen.timeout
        for part in PARTS:
            figures["parts"][part] = start(part, chosen.out, deadline - time.monotonic())
            show(part, figures["parts"][part])
    else:
        print(f"torch {torch.__version__} on {platform.node()} sees no GPU: nothing was run")
    file = chosen.out / "figures.json"
    file.write_text(json.dumps(figures, indent=1))
    print(file)
    return 0 if all(part["ok"] for part in figures["parts"].values()) else 1


def carry_out(part: str, folder: Path) -> list[Row]:
    import collectives
    import trials

    module = collectives if part == "nccl" else trials
    rows: list[Row] = getattr(module, part)(folder)
    return rows


def start(part: str, out: Path, seconds_left: float) -> Row:
    """Have a part carried out by a process group of its own, which ends with it."""
    began = time.monotonic()
    log = out / f"{part}.log"
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    error = None
    with log.open("w") as file:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, __file__, "--out", str(out), "--part", part],
            env={**os.environ, "PYTHONPATH": path},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(max(1.0, min(LONGEST_PART, seconds_left)))
            error = f"exit code {code}" if code else None
        except subprocess.TimeoutExpired:
            error = "not finished in time"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if error:
        error = f"{error}; the end of {log}:\n{log.read_text()[-LAST_WORDS:]}"
    rows = [] if error else json.loads((out / f"{part}.json").read_text())
    return {
        "ok": error is None and all(row["ok"] for row in rows),
        "seconds": round(time.monotonic() - began, 1),
        "error": error,
        "rows": rows,
    }


def show(part: str, done: Row) -> None:
    """Print a part's rows; of those without a figure, which say that a sum is right, only the
    others."""
    right = [row for row in done["rows"] if row["ok"] and not _has_figures(row)]
    print(f"\n{part}: {'ok' if done['ok'] else 'FAILED'}, {done['seconds']} s")
    if done["error"]:
        print(done["error"])
    if right:
        print(f"{len(right)} sums are right")
    heading: list[str] = []
    for row in done["rows"]:
        if row in right:
            continue
        if list(row) != heading:
            heading = list(row)
            print(" ".join(f"{name:>20}" for name in heading))
        print(" ".join(f"{_text(value):>20}" for value in row.values()))


def _has_figures(row: Row) -> bool:
    return any(isinstance(value, float) for value in row.values())


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
