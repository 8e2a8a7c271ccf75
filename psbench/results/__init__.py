"""The waist: what a run leaves on disk. Engines and drivers write it, analysis reads it.

A run folder holds `manifest.json` (what was asked, and where it ran), `journal/NNNN.jsonl` (trials,
evaluations, events), `steps/*.arrow` (one stream of step rows a trial) and, once the run has ended,
`status.json`.
"""

from psbench.results.bench_row import BenchRow
from psbench.results.caveats import (
    NOT_PINNED,
    crowded,
    few_repeats,
    is_exact,
    unlike_devices,
    unlike_transports,
)
from psbench.results.computing import computing_in_words, told_in_words
from psbench.results.copy_limit import CopyLimit, copy_limit
from psbench.results.environment import environment
from psbench.results.journal import Journal, read_journal
from psbench.results.manifest import SCHEMA_VERSION, build_manifest, has_manifest, read_manifest
from psbench.results.network_words import networks_in_words, networks_told_in_words
from psbench.results.rows import (
    EngineOutput,
    EvalRow,
    EventRow,
    JournalRow,
    StepRow,
    TrialRow,
    TrialStatus,
)
from psbench.results.steps import StepStream, TrialSteps, read_steps
from psbench.results.store import RunFolder, RunStatus, find_runs, read_status
from psbench.results.work import told_by_task

__all__ = [
    "NOT_PINNED",
    "SCHEMA_VERSION",
    "BenchRow",
    "CopyLimit",
    "EngineOutput",
    "EvalRow",
    "EventRow",
    "Journal",
    "JournalRow",
    "RunFolder",
    "RunStatus",
    "StepRow",
    "StepStream",
    "TrialRow",
    "TrialStatus",
    "TrialSteps",
    "build_manifest",
    "computing_in_words",
    "copy_limit",
    "crowded",
    "environment",
    "few_repeats",
    "find_runs",
    "has_manifest",
    "is_exact",
    "networks_in_words",
    "networks_told_in_words",
    "read_journal",
    "read_manifest",
    "read_status",
    "read_steps",
    "told_by_task",
    "told_in_words",
    "unlike_devices",
    "unlike_transports",
]
