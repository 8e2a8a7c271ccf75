"""Parameter server or all-reduce? One spec, every strategy, on the same model, data and transport.

    spec = psbench.Spec.load("experiments/quickstart.yaml")
    results = psbench.run(spec)
    results.summary()

Reading results (`psbench.load`) needs neither ray nor torch. `Task` and `Data` are what a model of
your own is made of.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from psbench.analysis import Results, load
    from psbench.spec import Spec
    from psbench.training import Data, Task

__all__ = ["Data", "Results", "Spec", "Task", "load", "run"]


def run(
    spec: "Spec | None" = None,
    *,
    out: "str | PathLike[str] | None" = None,
    resume: "str | PathLike[str] | None" = None,
) -> "Results":
    """Run all trials of a spec and return their results.

    The run's folder is `out`, new or empty, or else a new one under `results/`. With `resume`, go
    on with the run in that folder: only trials that have not ended are run, and the spec may be
    left out. A trial that fails is a row of the results. Raises PsbenchError for what cannot be
    run at all.
    """
    from pathlib import Path

    from psbench.analysis import load
    from psbench.driver import run as run_spec

    return load(
        run_spec(
            spec,
            out=None if out is None else Path(out),
            resume=None if resume is None else Path(resume),
        )
    )


def __getattr__(name: str) -> Any:
    # lazily, so that importing psbench costs nothing
    if name == "Spec":
        from psbench.spec import Spec

        return Spec
    if name in ("Results", "load"):
        from psbench import analysis

        return getattr(analysis, name)
    if name in ("Data", "Task"):
        from psbench import training

        return getattr(training, name)
    raise AttributeError(f"module 'psbench' has no attribute {name!r}")
