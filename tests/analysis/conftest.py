"""Run folders built through the real writer, from figures that the tests choose."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psbench.results import EvalRow, RunFolder, StepRow, TrialRow, build_manifest, environment

Writer = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> Writer:
    """Return a function that writes a run folder and returns its path."""

    def write(
        cells: list[dict[str, Any]],
        rows: list[TrialRow | EvalRow] = [],  # noqa: B006 (only read)
        *,
        steps: dict[tuple[str, int], list[StepRow]] | None = None,
        axes: tuple[str, ...] = ("strategy", "workers"),
        repeats: int = 1,
        status: str | None = "finished",
        out: Path | None = None,
        cores: int = 64,
    ) -> Path:
        where = environment() | {"cores": {"count": cores, "available": cores}}
        spec = {"name": "quickstart", "repeats": repeats, "seed": 0}
        manifest = build_manifest(
            spec_document=spec, axes=list(axes), cells=cells, environment=where
        )
        with RunFolder.create(tmp_path, "quickstart", out) as run:
            run.write_manifest(manifest)
            for row in rows:
                run.append(row)
            for (cell_id, repeat), step_rows in (steps or {}).items():
                with run.step_stream(cell_id, repeat, 1) as stream:
                    stream.write(step_rows)
            if status is not None:
                run.finish(status)
        return run.path

    return write
