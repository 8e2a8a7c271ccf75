"""What is different in a job submitted to Ray (`ray job submit`), known without importing ray."""

import json
import os
import socket
from pathlib import Path


def submission_id() -> str | None:
    """Return the id of the submitted job whose driver this process is, None if it is none."""
    try:
        config = json.loads(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}"))
        return str(config["metadata"]["job_submission_id"])
    except (KeyError, TypeError, ValueError):
        return None


def relative_out_warning(out: Path | None) -> str | None:
    """Say where a job's results go if that is no place to keep them: a relative `out`, or none."""
    if submission_id() is None or (out is not None and out.is_absolute()):
        return None
    folder = (out or Path("results")).resolve()
    return (
        f"results go to {folder} on {socket.gethostname()}, in Ray's copy of the working folder,"
        f" which Ray removes later; give --out an absolute path to keep them"
    )
