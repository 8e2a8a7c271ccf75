"""Results are read where there is neither ray nor torch; `make reading` runs this there."""

import hashlib
import importlib.util
import math
import tomllib
from pathlib import Path

import pytest

import psbench
from psbench.results import EvalRow, RunFolder, StepRow, TrialRow, build_manifest, environment

REPOSITORY = Path(__file__).parents[2]
WORKERS = 2
STEPS = 4
STRATEGIES = {
    "ring": {"kind": "all_reduce", "algorithm": "ring"},
    "ps-async": {"kind": "parameter_server", "consistency": "asynchronous"},
}


def _cell(strategy):
    label = f"{strategy}, {WORKERS} workers"
    return {
        "id": hashlib.sha256(label.encode()).hexdigest(),
        "label": label,
        "strategy": strategy,
        "workers": WORKERS,
        "servers": int(strategy.startswith("ps")),
        "global_batch": 8 * WORKERS,
        "task": "digits_cnn",
        "transport": "auto",
        "engine": "live",
        "steps": STEPS,
        "warmup": 1,
        "target": {"accuracy": 0.9},
        "fields": {"strategy": STRATEGIES[strategy], "workers": WORKERS},
    }


def _step(rank, step, served):
    """Return a step of 10 s: compute 4, synchronisation 4, update 1, other 1."""
    start = 10.0 * step
    return StepRow(
        rank=rank, step=step, samples=8, warmup=step == 0, loss=1.0 / (step + 1),
        begin_s=start, compute_s=4.0, enter_s=start + 4, exit_s=start + 8, update_s=1.0,
        server_update_s=0.5 if served else 0.0, queue_s=0.5 if served else math.nan,
        end_s=start + 10,
        pulled_version=step if served else -1, version=step + 1 if served else -1,
        staleness=rank if served else -1,
        bytes_sent=100, bytes_received=100, messages_sent=2, messages_received=2,
    )  # fmt: skip


def _evaluation(cell, step):
    return EvalRow(
        cell_id=cell["id"], repeat=0, attempt=1, step=step, samples=16 * step, seconds=10.0 * step,
        loss=1.0 / step, accuracy=step / 3,
    )  # fmt: skip


def _trial(cell):
    nodes = WORKERS + cell["servers"]
    pushes = STEPS * WORKERS if cell["servers"] else None
    return TrialRow(
        cell_id=cell["id"], repeat=0, attempt=1, status="ok", error=None, transport="gloo",
        steps=STEPS, samples=48, seconds=30.0,
        pushes_sent=pushes, pushes_acknowledged=pushes, pushes_applied=pushes,
        bytes_sent=(400,) * nodes, bytes_received=(400,) * nodes,
        messages_sent=(8,) * nodes, messages_received=(8,) * nodes,
        node_hosts=("host",) * nodes, one_clock=True, threads=1,
    )  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """Return the results of a run of two strategies, read back from its folder."""
    cells = [_cell(strategy) for strategy in STRATEGIES]
    manifest = build_manifest(
        spec_document={"name": "reading", "repeats": 1, "seed": 0},
        axes=["strategy"],
        cells=cells,
        environment=environment(),
    )
    with RunFolder.create(tmp_path, "reading", None) as run:
        run.write_manifest(manifest)
        for cell in cells:
            with run.step_stream(cell["id"], 0, 1) as stream:
                served = bool(cell["servers"])
                stream.write(
                    [_step(rank, step, served) for step in range(STEPS) for rank in range(WORKERS)]
                )
            for step in (1, 3):
                run.append(_evaluation(cell, step))
            run.append(_trial(cell))
        run.finish("finished")
    return psbench.load(run.path)


@pytest.mark.parametrize("package", ["ray", "torch"])
def test_here_is_neither_ray_nor_torch(package):
    assert importlib.util.find_spec(package) is None


def test_the_list_is_the_dependencies_without_the_heavy_ones():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    lines = (REPOSITORY / "requirements-reading.txt").read_text().splitlines()
    needed = {line for line in lines if line and not line.startswith("#")}
    left_out = set(project["dependencies"]) - needed
    assert needed <= set(project["dependencies"])
    heavy = {name.partition(">")[0] for name in left_out}
    assert heavy == {"ray[default]", "torch", "scikit-learn", "numba"}


def test_the_summary_has_a_row_a_cell(results):
    summary = results.summary()
    assert list(summary["strategy"]) == ["ring", "ps-async"]
    assert list(summary["samples_per_s"]) == pytest.approx([1.6, 1.6])
    assert list(summary["time_to_target_s"]) == [30.0, 30.0]


def test_the_trials_are_a_frame(results):
    assert list(results.trials["status"]) == ["ok", "ok"]
    assert list(results.trials["final_accuracy"]) == [1.0, 1.0]


def test_a_notebook_shows_the_table(results):
    shown = results._repr_html_()
    assert "<table>" in shown
    assert "ps-async" in shown


def test_plots_are_saved(results, tmp_path):
    files = results.save_plots(tmp_path / "plots")
    assert [file.name for file in files] == ["convergence.png", "breakdown.png", "staleness.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_a_spec_is_loaded():
    spec = psbench.Spec.load(REPOSITORY / "experiments" / "quickstart.yaml")
    assert spec.name == "quickstart"
